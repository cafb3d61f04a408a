"""The archive that an instructor uploads to Gradescope: the same bytes whenever it is made from the same files.

It holds the course's key, so it is written for its owner's eyes only.
"""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from checker.course.places import ROOT
from checker.course.saving import replace_whole
from checker.grading import key, settings
from checker.grading.settings import Settings
from checker.publish.gradescope import results
from checker.publish.gradescope.run import COURSE, KEY, SETTINGS
from checker.report.as_json import dumps

WHEN = (1980, 1, 1, 0, 0, 0)  # no file of a zip archive is older than that
PROGRAMS = ("setup.sh", "run_autograder")  # at the archive's root


def write(path: Path, course: Settings, puzzles: Sequence[str], root: Path = ROOT) -> list[str]:
    """Write the archive for some puzzles; the names of what is in it. Raises KeyProblem, OSError."""
    files = contents(course, puzzles, root)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, WHEN)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | mode) << 16  # 3: Unix, whose modes these are
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    replace_whole(path, packed.getvalue(), mode=0o600)
    return sorted(files)


def contents(course: Settings, puzzles: Sequence[str], root: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and mode by name. Named one by one or by kind: what happens to lie about stays out."""
    paths = [root / "constraints.txt", root / "checker" / "supported.sh"]
    paths += [path for path in (root / "checker").rglob("*.py") if path.is_file() and not path.is_symlink()]
    files = {path.relative_to(root).as_posix(): (path.read_bytes(), 0o644) for path in paths}
    for name in PROGRAMS:
        files[name] = (root / "checker" / "publish" / "gradescope" / name).read_bytes(), 0o755
    files["requirements.txt"] = requirements(root).encode(), 0o644
    files[SETTINGS] = dumps({"puzzles": list(puzzles)}).encode(), 0o644
    files["not_graded.json"] = dumps(results.not_graded()).encode(), 0o644
    files[f"{COURSE}/{settings.NAME}"] = (course.folder / settings.NAME).read_bytes(), 0o644
    files[f"{COURSE}/{KEY}"] = key.read(course.key_path).encode() + b"\n", 0o600
    return files


def requirements(root: Path) -> str:
    """What pip is to install there: what checking needs, and what grading needs as well."""
    project = msgspec.toml.decode((root / "pyproject.toml").read_bytes())["project"]
    return "\n".join([*project["dependencies"], *project["optional-dependencies"]["grading"]]) + "\n"
