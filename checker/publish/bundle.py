"""The course as students get it: one archive, the same bytes whenever it is made from the same files."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from pathlib import Path

from checker import catalog
from checker.course import ladder
from checker.course.lesson import emptied, notebook_text
from checker.course.places import ROOT
from checker.course.saving import replace_whole

NAME = "flash-puzzles"
TOP = ("LICENSE", "pyproject.toml", "constraints.txt", ".gitignore", ".devcontainer/devcontainer.json")
KINDS = {".py", ".sh", ".json"}
INSTRUCTORS = ("grading", "nbgrader", "publish")
# What needs files that students do not get: 1.5 GB would be installed for tests that are not there.
TARGETS = (
    "solution",
    "course",
    "grade",
    "gradescope",
    "similar",
    "student-bundle",
    "test",
    "test-all",
    "mutants",
    "versions",
    "lint",
)
BACKGROUND = ("docs/background/*.md", "docs/figures/*.png", "docs/figures/*.svg", "docs/sources.md")
WHEN = 315532800  # 1980: no file of an archive is older than that


def write(path: Path, root: Path = ROOT) -> list[str]:
    """Write the archive; the names of what is in it. OSError."""
    files = contents(root)
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=WHEN, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name, (data, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{NAME}/{name}")
            entry.size, entry.mode, entry.mtime = len(data), mode, WHEN
            archive.addfile(entry, io.BytesIO(data))
    replace_whole(path, packed.getvalue())
    return sorted(files)


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and mode by name. Named one by one or by kind: what happens to lie about stays out."""
    paths = [root / name for name in TOP if (root / name).exists()]
    paths += [path for pattern in BACKGROUND for path in root.glob(pattern)]
    paths += [path for path in (root / "checker").rglob("*") if path.suffix in KINDS and not _instructors(path, root)]
    files = {
        path.relative_to(root).as_posix(): (path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
        for path in paths
    }
    for number, stem in ladder.stems().items():
        puzzle = catalog.load(number)
        stub = emptied((root / "puzzles" / f"{stem}.py").read_text(encoding="utf-8"), puzzle)
        files[f"puzzles/{stem}.py"] = stub.encode(), 0o644
        files[f"notebooks/{stem}.ipynb"] = notebook_text(stub, puzzle).encode(), 0o644
    files["Makefile"] = _makefile((root / "Makefile").read_text(encoding="utf-8")).encode(), 0o644
    readme = _readme((root / "README.md").read_text(encoding="utf-8"), {*files, "README.md"})
    return files | {"README.md": (readme.encode(), 0o644)}


def _instructors(path: Path, root: Path) -> bool:
    name = path.relative_to(root / "checker").as_posix()
    return any(name == part or name.startswith(f"{part}/") for part in INSTRUCTORS)


def _makefile(text: str) -> str:
    """The Makefile without the targets that would find nothing to work on."""
    names = "|".join(TARGETS)
    text = re.sub(rf"^(?:{names}):.*\n(?:\t.*\n)+\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^#   (?:COURSE|EXCHANGE|CLUSTER|FORCE|TESTS)=.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^\.PHONY:.*", lambda line: re.sub(rf" (?:{names})(?= |$)", "", line[0]), text, flags=re.MULTILINE)


def _readme(text: str, names: set[str]) -> str:
    """The README without what is for instructors and authors, and without links to what students do not get."""
    text = re.sub(
        r"^## (?:For instructors|Adding a puzzle)\n.*?(?=^## |^\[MIT)", "", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"<!-- full course -->.*?<!-- /full course --> *", "", text, flags=re.DOTALL)
    absent = rf"make (?:{'|'.join(TARGETS)})(?![\w-])"
    text = re.sub(rf"^(?:\| `)?{absent}.*\n", "", text, flags=re.MULTILINE)  # of a listing, of a table
    text = re.sub(
        r"^\* .*\n(?:  .*\n)*", lambda item: "" if re.search(absent, item[0]) else item[0], text, flags=re.MULTILINE
    )

    def kept(link: re.Match[str]) -> str:
        target = link[2].partition("#")[0].rstrip("/")
        there = not target or "://" in target or any(n == target or n.startswith(f"{target}/") for n in names)
        return link[0] if there else link[1]

    links = r"\[([^\]]*)\]\(([^)\s]+)\)"
    text = re.sub(rf" \({links}\)", lambda link: "" if kept(link) == link[1] else link[0], text)  # "(all figures)"
    return re.sub(links, kept, text)
