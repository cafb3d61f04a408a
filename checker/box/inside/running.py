"""The launch in progress: its memory, its program, and the line of the submission that it is at. One at a time."""

from __future__ import annotations

import sys

from checker.box.inside.memory import Memory


class _Running:
    """What is put in Triton's place needs to know this."""

    def __init__(self) -> None:
        self.memory: Memory | None = None  # None: no launch is in progress
        self.program = 0
        self.filename = ""
        self.reached: set[int] = set()  # bodies of the submission that were entered

    def where(self) -> tuple[int, int]:
        """(program, line of the submission that is being executed; 0 if there is none)."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.filename:
            frame = frame.f_back  # type: ignore[assignment]
        return self.program, frame.f_lineno if frame is not None else 0

    def bodies(self) -> list[int]:
        """Numbers of the bodies that the last launch has entered."""
        return sorted(number for number in self.reached if type(number) is int)

    def lost(self, way: int, line: int = 0) -> None:
        """Note one of WAYS to lose digits or bits, if a launch is in progress."""
        if self.memory is not None:
            self.memory.lost(way, line)


running = _Running()


def memory() -> Memory:
    """That of the launch in progress."""
    if running.memory is None:
        raise RuntimeError("memory was touched outside a launch")
    return running.memory
