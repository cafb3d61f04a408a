"""The course as students get it: one archive, the same bytes whenever it is made from the same files."""

from __future__ import annotations

import gzip
import io
import re
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from checker import catalog
from checker.course import ladder
from checker.course.kernel import GAP
from checker.course.language import LANGUAGES
from checker.course.lesson import emptied
from checker.course.localised import built
from checker.course.places import ROOT, start
from checker.course.saving import replace_whole
from checker.course.status import Misuse
from checker.publish.start import start_notebook

NAME = "flash-puzzles"
TOP = (
    *("LICENSE", "Makefile", "check", "pyproject.toml", "constraints.txt", ".gitignore"),
    *(".devcontainer/devcontainer.json", ".vscode/tasks.json"),
    *(f"locks/{layer}.txt" for layer in ("check", "plot", "lab")),
)
KINDS = {".py", ".md", ".npz", ".sh", ".json", ".txt", ".js", ".css", ".html"}
FILES = ("author", "class_pages", "course", "grade", "grades", "progress", "rounds", "site")
INSTRUCTORS = ("browser", "grading", "nbgrader", "publish", *(f"commands/{file}.py" for file in FILES))  # in checker/
BACKGROUND = (
    *("docs/background/*.md", "docs/figures/*.svg", "docs/sources.md", "docs/own.md"),
    "benchmarks/results/speed.md",
)
PAGES = ("README.md", "docs/guide.md", "docs/README.zh.md")  # parts are built, and parts are for the full course only
ASSISTANTS = "checker/publish/AGENTS.md"  # at the top of the archive: here its rules would hold for authors, too
BACKEND = 'build-backend = "backend"\nbackend-path = ["checker/publish/wheel"]\n'  # which lies in the full course
FULL_COURSE = re.compile(r"<!-- full course -->\n.*?<!-- /full course -->\n", re.DOTALL)  # what students do not get
_WHEN = 315532800  # 1980: no file of an archive is older than that
_Files = Mapping[str, tuple[bytes, int]]  # bytes and mode, by name


def write(path: Path, root: Path = ROOT) -> list[str]:
    """Write the archive, a zip if it is called so; the names of what is in it. OSError."""
    files = contents(root)
    made = as_zip if path.suffix == ".zip" else as_tar
    replace_whole(path, made({f"{NAME}/{name}": one for name, one in files.items()}))
    return sorted(files)


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and mode by name. Named one by one or by kind: what happens to lie about stays out."""
    paths = [root / name for name in TOP if (root / name).exists()]
    paths += [path for pattern in BACKGROUND for path in root.glob(pattern)]
    paths += [path for path in (root / "checker").rglob("*") if path.suffix in KINDS]
    paths = [path for path in paths if not any(path.is_relative_to(root / "checker" / part) for part in INSTRUCTORS)]
    files = {
        path.relative_to(root).as_posix(): (path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
        for path in paths
    }
    for puzzle_id, stem in ladder.stems().items():
        puzzle = catalog.load(puzzle_id)
        stub = emptied((root / "puzzles" / f"{stem}.py").read_text(encoding="utf-8"), puzzle)
        if stub.count(GAP) < len(puzzle.kernels):  # as after HELP=2
            raise Misuse(f"A kernel in puzzles/{stem}.py has no {GAP} mark. First: make reset PUZZLE={puzzle_id}")
        files[f"puzzles/{stem}.py"] = stub.encode(), 0o644
        for path, text in built(stub, puzzle, root):
            files[path.relative_to(root).as_posix()] = text.encode(), 0o644
    for language in LANGUAGES:
        name = start(root, language).relative_to(root).as_posix()
        files[name] = start_notebook(language).encode(), 0o644
    for name in PAGES:
        files[name] = FULL_COURSE.sub("", (root / name).read_text(encoding="utf-8")).encode(), 0o644
    settings = files["pyproject.toml"][0].decode()
    assert BACKEND in settings
    settings = settings.replace(BACKEND, 'build-backend = "setuptools.build_meta"\n')
    files["pyproject.toml"] = settings.encode(), 0o644
    return files | {"AGENTS.md": ((root / ASSISTANTS).read_bytes(), 0o644)}


def as_tar(files: _Files) -> bytes:
    """Return a compressed tar archive."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=_WHEN, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name, (data, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(data), mode, _WHEN
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def as_zip(files: _Files) -> bytes:
    """Return a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # no file of an archive is older than that
            entry.create_system = 3  # Unix, whose modes these are
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
