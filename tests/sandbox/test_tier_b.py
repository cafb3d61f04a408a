"""The tests of the cage again, as an ordinary user whose bubblewrap needs user namespaces.

Whoever is no root runs them as such anyway; root starts them here, in a view of the machine in which
Python, this project and a folder to write to are open to others, wherever they lie.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.course import ladder
from tests.conftest import ROOT, need

USER = 63999  # beside the users of slots
TESTS = [f"tests/sandbox/test_{name}.py" for name in ("cage", "cage_slots", "host")]
GRADING = ["tests/grading/test_in_the_cage.py"]

# What takes long and knows no tiers.
LEFT_OUT = ["practice_has_kept", *(rung.stem for rung in ladder.LADDER if rung.id not in ("p1", "p2"))]


@pytest.fixture
def project() -> Iterator[Path]:
    """A copy of the project that an ordinary user can read, in a folder that he can write to."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user runs these tests as what he is")
    need("bwrap")
    need("setpriv")
    folder = Path(tempfile.mkdtemp(prefix="flash-puzzles-tier-b-", dir="/tmp"))
    for name in ("checker", "solutions", "puzzles", "tests", "pyproject.toml"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "project" / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / "project" / name)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)
    yield folder / "project"
    shutil.rmtree(folder)


def opened(paths: set[Path]) -> list[str]:
    """Arguments for bubblewrap that show `paths` to others, also in folders that are closed to them."""
    closed: dict[Path, Path] = {}  # the topmost closed folder above each
    for path in paths:
        above = [folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001]
        if above:
            closed[path] = above[0]
    arguments = [word for folder in set(closed.values()) for word in ("--perms", "0755", "--tmpfs", str(folder))]
    for path, top in sorted(closed.items()):
        for folder in reversed(path.parents):
            if top in folder.parents:
                arguments += ["--perms", "0755", "--dir", str(folder)]
        arguments += ["--ro-bind", str(path), str(path)]
    return arguments


@pytest.mark.parametrize("tests", [TESTS, GRADING], ids=["cage", "grading"])
def test_an_ordinary_users_cage_holds_as_well(tests: list[str], project: Path) -> None:
    python = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    view = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", *opened(python)]
    become = ["--cap-add", "ALL", "--", "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={project.parent}/tmp", *tests]
    asked += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
    done = subprocess.run(
        [*view, *become, "--inh-caps=-all", "--bounding-set=-all", *asked],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": str(project),
            "HOME": str(project.parent),
            "TMPDIR": str(project.parent),
            "REQUIRE_ALL_TOOLS": "1",  # root has bubblewrap: it must work here as well
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "A: bubblewrap" not in done.stdout
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert all(line.endswith("only root gives users of their own to cages") for line in skipped), skipped
