"""Frames of JSON and raw buffers: the only language spoken through the wall of the sandbox.

A frame is a 4-byte length of a JSON header, a 4-byte count of buffers, an 8-byte length for each
buffer, then the header and the buffers themselves, all little-endian. No pickle: reading a frame
can never run anything.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Any

_PREFIX = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")


def launch_mark(source: str) -> str:
    """Return what begins, with the launch's number, what a launch of this program prints.

    A text in a program cannot contain the program's hash, so nothing that is printed is taken for a mark.
    """
    return f"\x1e{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()} "


class MalformedFrame(ValueError):
    """The bytes are not a whole number of well-formed frames."""


def pack(header: dict[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    """Return one frame holding `header` and `buffers`."""
    text = json.dumps(header).encode()
    sizes = b"".join(_LENGTH.pack(len(buffer)) for buffer in buffers)
    return b"".join([_PREFIX.pack(len(text), len(buffers)), sizes, text, *buffers])


def unpack(
    data: bytes | mmap, longest_header: int | None = None, most_buffers: int | None = None
) -> Iterator[tuple[dict[str, Any], list[memoryview]]]:
    """Yield the frames in `data`, in order.

    Both limits are for data that is not to be trusted: an object for each of many empty buffers takes far more
    memory than the bytes that announce them. Raises MalformedFrame at the first byte that does not fit; frames
    before it have been yielded.
    """
    view = memoryview(data)
    at = 0

    def take(size: int) -> memoryview:
        nonlocal at
        if size > len(view) - at:
            raise MalformedFrame("a frame ends too early")
        at += size
        return view[at - size : at]

    while at < len(view):
        text_length, count = _PREFIX.unpack(take(_PREFIX.size))
        if longest_header is not None and text_length > longest_header:
            raise MalformedFrame("a frame's header is too long")
        if most_buffers is not None and count > most_buffers:
            raise MalformedFrame("a frame has too many buffers")
        if count * _LENGTH.size > len(view) - at:
            raise MalformedFrame("a frame announces more buffers than there are bytes")
        sizes = [_LENGTH.unpack(take(_LENGTH.size))[0] for _ in range(count)]
        try:
            header = json.loads(bytes(take(text_length)))
        except (ValueError, RecursionError) as error:
            raise MalformedFrame("a frame's header is not JSON") from error
        if not isinstance(header, dict):
            raise MalformedFrame("a frame's header is not an object")
        yield header, [take(size) for size in sizes]
