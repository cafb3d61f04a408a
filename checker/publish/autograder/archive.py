"""What is uploaded to a service: the same bytes whenever it is made from the same files."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from checker.course.places import code
from checker.course.saving import replace_whole

WHEN = (1980, 1, 1, 0, 0, 0)  # no file of a zip archive is older than that
# What judges a submission wherever that is done; below checker/, folders with all that is in them.
JUDGING = (
    *("__init__.py", "supported.sh", "course", "submission", "box", "catalog", "judge", "check", "report"),
    *(f"grading/{name}.py" for name in ("__init__", "cells", "chosen", "found")),
    *("publish/__init__.py", "publish/autograder"),
)

Files = dict[str, tuple[bytes, int]]  # bytes and mode by name


def checker_files(root: Path, *more: str) -> Files:
    """The checker as a machine needs it that judges, and `more` of it.

    Named one by one or by kind: what happens to lie about stays out.
    """
    paths = [path for name in (*JUDGING, *more) for path in code(root / "checker" / name) if not path.is_symlink()]
    return {path.relative_to(root).as_posix(): (path.read_bytes(), 0o644) for path in paths}


def write(path: Path, files: Mapping[str, tuple[bytes, int]], mode: int | None = None) -> None:
    """Write files as a zip archive, whole or not at all. `mode`: of the archive. OSError."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, permissions) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, WHEN)
            entry.create_system = 3  # Unix, whose modes these are
            entry.external_attr = (stat.S_IFREG | permissions) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    replace_whole(path, packed.getvalue(), mode)
