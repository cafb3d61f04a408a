"""Results on disk: each submission is judged once, whoever hands it in and however often.

A record is one JSON file, named for everything that the result depends on: the submission's hash, where its cells
stand and end, the puzzle, the checker and its catalog, the key, the device and Triton. It holds properties, not
points, and no student's name.
"""

from __future__ import annotations

import hashlib
import json
import types
import typing
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from checker.course.saving import replace_whole
from checker.course.verdict import Verdict
from checker.report.as_json import dumps
from checker.submission.read import Submission

FORM = 1  # of the file
# What a result depends on; the report's words do not belong to it.
JUDGING = ("course", "submission", "box", "catalog", "judge", "check")


def identity(number: int, submission: Submission, key_id: str, device: str, caged: bool) -> dict[str, Any]:
    """Everything that a result depends on; the numbers of its cells are in the words of the findings.

    Where a cell ends belongs to it: the same text, cut in the middle of a kernel, is another submission, and a bad one.
    What was found without a cage is no result for those who ask for one.
    """
    text = submission.text.encode("utf-8", "surrogatepass")
    return {
        "form": FORM,
        "puzzle": number,
        "submission": hashlib.sha256(text).hexdigest(),
        "cells": [[chunk.cell, chunk.text.count("\n")] for chunk in submission.chunks],
        "checker": checker_digest(),
        "key": key_id,
        "device": device,
        "caged": caged,
        "triton": triton_version(),
    }


def load(path: Path) -> Verdict | None:
    """The recorded result, if there is one that can be read, and that is of what its name says."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if _name(data["of"]) != path.name:  # a copy of another one
            return None
        verdict: Verdict = _made(Verdict, data["verdict"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # half written by somebody else, or of another form: judge again
    return verdict


def keep(path: Path, of: dict[str, Any], verdict: Verdict) -> None:
    """Write a result down, whole or not at all. OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_whole(path, dumps({"of": of, "verdict": asdict(verdict)}).encode())


def place(folder: Path, of: dict[str, Any]) -> Path:
    """The file in which a result is recorded."""
    return folder / f"p{of['puzzle']}" / _name(of)


def _name(of: dict[str, Any]) -> str:
    return f"{hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:32]}.json"


@cache
def checker_digest() -> str:
    """A hash of the code that judges."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for part in JUDGING:
        for path in sorted((root / part).rglob("*.py")) if (root / part).is_dir() else [root / part]:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def triton_version() -> str:
    """The Triton that judges here; nothing if there is none."""
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


def _made(kind: Any, value: Any) -> Any:
    """A value of JSON as the type that it was written from. TypeError, ValueError or KeyError if it does not fit."""
    origin = typing.get_origin(kind)
    if origin is tuple:
        inner = typing.get_args(kind)
        each = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_made(one, item) for one, item in zip(each, value, strict=True))
    if origin is dict:
        return {str(name): _made(typing.get_args(kind)[1], item) for name, item in value.items()}
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _made(next(one for one in typing.get_args(kind) if one is not type(None)), value)
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{one.name: _made(hints[one.name], value[one.name]) for one in fields(kind)})  # type: ignore[operator]
    if issubclass(kind, Enum):
        return kind(value)
    if kind is float and isinstance(value, int | str):
        return float(value)  # 1.0 and "nan", as JSON has them
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not {kind}")
    return value
