"""The archive that an instructor uploads to Gradescope; there, it speaks the language in which it was made.

It holds the course's key, so it is written for its owner's eyes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from checker.course import ladder
from checker.course.language import spoken
from checker.course.places import ROOT, code
from checker.course.saving import replace_whole
from checker.grading import key, settings
from checker.grading.settings import Settings
from checker.publish.bundle import as_zip
from checker.publish.gradescope import results
from checker.publish.gradescope.run import COURSE, KEY, SETTINGS
from checker.report.as_json import dumps

PROGRAMS = ("setup.sh", "run_autograder")  # at the archive's root
# What judges and grades, below checker/, folders with all that is in them; and `python -m checker doctor`, for which
# its sentences ask if there is no sandbox.
CODE = (
    *(
        "__init__.py",
        "supported.sh",
        "course",
        "submission",
        "sandbox",
        "catalog",
        "judge",
        "check",
        "report",
        "grading",
    ),
    *("publish/__init__.py", "publish/gradescope", "__main__.py", "commands", "doctor", "learner"),
)


def write(path: Path, course: Settings, puzzles: Sequence[str], root: Path = ROOT) -> list[str]:
    """Write the archive for some puzzles, whole or not at all; the names in it. Raises KeyProblem, OSError."""
    files = contents(course, puzzles, root)
    replace_whole(path, as_zip(files), mode=0o600)
    return sorted(files)


def contents(course: Settings, puzzles: Sequence[str], root: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and mode by name. Named one by one or by kind: what happens to lie about stays out."""
    paths = [path for name in CODE for path in code(root / "checker" / name) if not path.is_symlink()]
    files = {path.relative_to(root).as_posix(): (path.read_bytes(), 0o644) for path in paths}
    files["constraints.txt"] = (root / "constraints.txt").read_bytes(), 0o644
    for name in PROGRAMS:
        files[name] = (root / "checker" / "publish" / "gradescope" / name).read_bytes(), 0o755
    files["requirements.txt"] = requirements(root, puzzles).encode(), 0o644
    files[SETTINGS] = dumps({"puzzles": list(puzzles), "language": spoken()}).encode(), 0o644
    files["not_graded.json"] = dumps(results.not_graded()).encode(), 0o644
    files[f"{COURSE}/{settings.NAME}"] = (course.folder / settings.NAME).read_bytes(), 0o644
    files[f"{COURSE}/{KEY}"] = key.read(course.key_path).encode() + b"\n", 0o600
    return files


def requirements(root: Path, puzzles: Sequence[str]) -> str:
    """Return what pip is to install there: what checking and grading need, and PyTorch for puzzles that are written in
    it.
    """
    project = msgspec.toml.decode((root / "pyproject.toml").read_bytes())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["grading"]]
    if any(ladder.RUNGS[puzzle_id].pytorch for puzzle_id in puzzles):
        needed += extras["torch"]
    return "\n".join(needed) + "\n"
