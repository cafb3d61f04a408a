"""The archive that an instructor unpacks into CLASSROOM/autograders/ASSIGNMENT/ of Classroom 50's configuration.

Everybody may read it, because Classroom 50 publishes it. So it holds neither the course's key nor its settings, but
for the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checker.course.places import ROOT
from checker.grading.settings import Settings
from checker.publish.autograder import archive
from checker.publish.autograder.archive import Files
from checker.publish.classroom50.run import SETTINGS
from checker.report.as_json import dumps


def write(path: Path, course: Settings, puzzles: Sequence[str], root: Path = ROOT) -> list[str]:
    """Write the archive for some puzzles; the names of what is in it. OSError."""
    files = contents(course, puzzles, root)
    archive.write(path, files)
    return sorted(files)


def contents(course: Settings, puzzles: Sequence[str], root: Path) -> Files:
    """Bytes and mode by name."""
    files = archive.checker_files(root, *(f"publish/classroom50/{name}.py" for name in ("__init__", "results", "run")))
    files["autograder.py"] = (root / "checker" / "publish" / "classroom50" / "autograder.py").read_bytes(), 0o644
    files["locks/check.txt"] = (root / "locks" / "check.txt").read_bytes(), 0o644
    points = {puzzle_id: course.points_of(puzzle_id) for puzzle_id in puzzles}
    files[SETTINGS] = dumps({"points": points}).encode(), 0o644
    return files
