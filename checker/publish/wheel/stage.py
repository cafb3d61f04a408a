"""The course as a package: the checker, and what `flash-puzzles init` and machines without Triton need besides it."""

from __future__ import annotations

from pathlib import Path

from checker.publish import triton
from checker.publish.bundle import contents

CARRIED = Path("checker", "carried")
BUILT_FROM = ("LICENSE", "README.md", "pyproject.toml")  # what setuptools looks at
NOT_CARRIED = ("constraints.txt", "pyproject.toml", ".gitignore", ".devcontainer/devcontainer.json")  # of a clone


def stage(folder: Path, root: Path) -> None:
    """Write what a wheel is built from. OSError; PackageNotFoundError where Triton is not installed."""
    for name, (data, _) in contents(root).items():
        if name.startswith("checker/") or name in BUILT_FROM:
            _write(folder / name, data)
        if not name.startswith(("checker/", "locks/")) and name not in NOT_CARRIED:
            _write(folder / CARRIED / "course" / name, data)
    for name, data in (triton.python_files() | {"LICENSE-of-triton.txt": triton.notice().encode() + b"\n"}).items():
        _write(folder / CARRIED / "python" / name, data)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
