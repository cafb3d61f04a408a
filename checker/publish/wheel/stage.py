"""The course as a package: the checker, and what `flash-puzzles init` and machines without Triton need beside it."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

from checker.publish.bundle import contents

CARRIED = Path("checker", "carried")
BUILT_FROM = ("LICENSE", "README.md", "pyproject.toml")  # what setuptools looks at
NOT_CARRIED = ("constraints.txt", "pyproject.toml", ".gitignore", ".devcontainer/devcontainer.json")  # of a clone
NOTICE = "Triton's Python files, version {version}, as its wheel has them. Their licence stands beside this file.\n"


def stage(folder: Path, root: Path) -> None:
    """Write what a wheel is built from. OSError; PackageNotFoundError where Triton is not installed."""
    for name, (data, _) in contents(root).items():
        if name.startswith("checker/") or name in BUILT_FROM:
            _write(folder / name, data)
        if not name.startswith(("checker/", "locks/")) and name not in NOT_CARRIED:
            _write(folder / CARRIED / "course" / name, data)
    for name, data in triton_files().items():
        _write(folder / CARRIED / "python" / name, data)


def triton_files() -> dict[str, bytes]:
    """Triton's Python files by name, and its licence, out of the wheel that is installed here."""
    triton = distribution("triton")
    files = {
        file.as_posix(): file.read_binary()
        for file in triton.files or ()
        if file.parts[0] == "triton" and file.suffix == ".py"
    }
    [licence] = [file for file in triton.files or () if file.name == "LICENSE"]
    return files | {
        "LICENSE-of-triton.txt": NOTICE.format(version=triton.version).encode() + b"\n" + licence.read_binary()
    }


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
