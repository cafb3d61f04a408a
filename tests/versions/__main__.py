"""`python -m tests.versions [PYTHON ...]`: run the suite on every supported combination, and write `table.md`.

Each combination gets a virtual environment of its own, without torch and grading: what needs them is the same on all.
Pythons that are not named are looked for on PATH; a version that cannot be had stands in the table as such. Takes
minutes a combination. Last, `hub` tries the course on a JupyterHub.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.versions import hub

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("table.md")
MINORS = range(10, 15)  # Python 3.10 to 3.14
OLDEST_NUMPY = "2.0.0"
# What a hosted notebook has (Colab, November 2026), on Python 3.13; nbclient runs its first cell.
HOSTED = ("ipython==7.34.0", "rich==13.9.4", "matplotlib==3.10.0", "ipykernel", "nbclient")
# What the judge reaches is the same on all of them, and takes a quarter of the time; and so is waiting for a save.
# Grading needs its tools, and PyTorch besides: the course that it grades has such puzzles.
LEFT_OUT = (
    *("test_mutation.py", "test_one_line_changed.py", "test_sentences.py", "learner/test_watch.py"),
    *("grading", "nbgrader", "publish/test_gradescope.py"),
)
SUITE = ("-m", "pytest", "-q", "-n", "3", "--dist", "worksteal", "--slice", "now", "-p", "no:cacheprovider")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "jupytext", "msgspec", "setuptools>=77")
KERNELS = (
    *SUITE[:7],
    "tests/test_kernels.py",
    "-k",
    "(kernels_are_accepted and not whatever_the_key) or kernels_are_refused",
)  # all there are
SUITE += tuple(f"--ignore=tests/{path}" for path in LEFT_OUT)


@dataclass(frozen=True)
class Combination:
    """Versions that are tried together; an empty one means the newest there is."""

    python: Path
    triton: str
    numpy: str = ""
    others: tuple[str, ...] = ()  # what else is installed
    name: str = ""


def pythons(named: list[Path]) -> dict[int, Path]:
    """Minor version → interpreter, of those named or found on PATH."""
    candidates = named or [Path(p) for minor in MINORS if (p := shutil.which(f"python3.{minor}"))]
    found = {}
    for path in candidates:
        done = subprocess.run([path, "-V"], capture_output=True, text=True, check=False)
        if version := re.match(r"Python 3\.(\d+)\.", done.stdout):
            found[int(version[1])] = path
    return {minor: found[minor] for minor in MINORS if minor in found}


def combinations(found: dict[int, Path]) -> Iterator[Combination]:
    """Every Python, triton and numpy that is supported at least once, beside those of `make test`; and hosted."""
    (oldest, *others, newest) = [found[minor] for minor in found if minor != sys.version_info.minor]
    yield Combination(oldest, "3.6.0", OLDEST_NUMPY)
    for python in others:
        yield Combination(python, "3.7.1")
    yield Combination(newest, "", name="newest")
    yield Combination(found.get(13, newest), "3.6.0", "2.1.3", HOSTED, "hosted")


def tried(combination: Combination) -> str:
    """One line of the table: what was installed, and how the suite ended."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a test is run by another user
        subprocess.run([combination.python, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        chosen = {"triton": combination.triton, "numpy": combination.numpy}
        wanted = [f"{package}=={version}" if version else package for package, version in chosen.items()]
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", ROOT, *wanted]
        subprocess.run([*install, *combination.others, *TOOLS], check=True)
        versions = (
            "import platform, triton, numpy; print(platform.python_version(), triton.__version__, numpy.__version__)"
        )
        got = subprocess.run([python, "-c", versions], capture_output=True, text=True, check=True).stdout.split()
        subprocess.run([python, "-m", "tests.versions.parameters"], cwd=ROOT, check=True)
        begun = time.monotonic()
        counted = ran(python, SUITE)
        if combination.name:
            counted += f"; of all kernels {ran(python, KERNELS)}"
        minutes = (time.monotonic() - begun) / 60
        name = f" ({combination.name})" if combination.name else ""
        return f"| {' | '.join(got)}{name} | {counted} | {minutes:.0f} min |"


def ran(python: Path, suite: tuple[str, ...]) -> str:
    """How some tests ended, in numbers."""
    done = subprocess.run([python, *suite], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    counted = re.findall(r"\d+ (?:passed|failed|skipped|errors?)", done.stdout.rstrip().rpartition("\n")[2])
    return ", ".join(counted) or "did not run"


def on_a_hub(python: Path) -> str:
    """A line on how that went."""
    try:
        return f"{hub.tried(python)}."
    except (AssertionError, subprocess.CalledProcessError) as error:
        return f"On a JupyterHub something failed: {error}"


def main() -> int:
    """Run all; 1 if a test failed anywhere."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="*", type=Path, help="interpreters to use instead of those on PATH")
    parser.add_argument("--only", choices=["hosted", "hub", "newest"], help="one of them, which writes no table")
    asked = parser.parse_args()
    found = pythons(asked.pythons)
    if len(found.keys() - {sys.version_info.minor}) < 2:
        print(f"Name two Pythons from 3.{MINORS[0]} to 3.{MINORS[-1]} besides this one.", file=sys.stderr)
        return 2
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    lines = [
        "# The suite on other versions",
        "",
        f"`make versions`, {time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip()}: `make test`",
        "without mutants, one-line changes, waiting for saves and grading; and without what needs torch,",
        "which is not installed.",
        "",
        "| Python | triton | numpy | tests | took |",
        "|---|---|---|---|---|",
    ]
    missing = [f"| 3.{minor} | not to be had here | | | |" for minor in MINORS if minor not in found]
    for combination in combinations(found):
        if asked.only not in (None, combination.name):
            continue
        lines.append(tried(combination))
        print(lines[-1], flush=True)
        if asked.only is None:
            TABLE.write_text("\n".join([*lines, *missing]) + "\n", encoding="utf-8")  # whatever ends it, this is known
    if asked.only in (None, "hub"):
        lines += [*missing, "", on_a_hub(found.get(12, Path(sys.executable)))]
        print(lines[-1], flush=True)
        if asked.only is None:
            TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(any("failed" in line or "error" in line or "did not run" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
