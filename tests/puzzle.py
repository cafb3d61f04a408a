"""Begin a puzzle, or say what one lacks: `make puzzle ID=p8_row_max` writes its files, `make puzzle ID=p8` counts.

What a finished puzzle has besides those files, such as a figure and bugs to find, tests ask for that are marked
`finished`. Of a draft they are skipped, and counted here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from checker.course import ladder
from tests.skeleton import ROOT, written


class Ticks:
    """The tests' results on a puzzle; each is called by its requirement."""

    def __init__(self) -> None:
        self.lacking: dict[str, bool] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of one that is marked `finished`, whether it passed; of others, their names if they failed."""
        if "finished" in report.keywords:
            words = re.sub(r"\[.*|test_", "", report.nodeid.rpartition("::")[2]).replace("_", " ")
            self.lacking[words] = self.lacking.get(words, False) or report.failed
        elif report.failed:
            self.failed.append(report.nodeid)

    def lines(self) -> Iterator[str]:
        """A line for each thing that a finished puzzle has; then what failed."""
        yield from (f"  {'○' if lacks else '✓'} {words}" for words, lacks in self.lacking.items())
        yield from (f"  ✗ {name}" for name in self.failed)


def main(said: list[str]) -> int:
    """0 if nothing failed but what may be lacking; 1 if a test did; 2 if there is nothing to do.

    `said`: an ID, or a stem; behind an ID also files of tests, in place of all.
    """
    id, _, slug = (said[0] if said else "").lower().partition("_")
    if id in ladder.RUNGS:
        ticks = Ticks()
        only = said[1:] or [str(ROOT / "tests")]
        line = ["-q", "--no-header", "--tb=line", "-n", "auto", "--finished", "-k", f"{id} and not browser", *only]
        status = pytest.main(line, plugins=[ticks])
        print("\n".join([f"\nWhat {id} has (✓), lacks (○) and fails (✗):", *ticks.lines()]))
        return int(bool(ticks.failed) or status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED))
    if not (re.fullmatch(r"[a-z]\d", id) and re.fullmatch(r"[a-z][a-z0-9_]*", slug)):
        print("Say which: ID=p8_row_max begins a puzzle, ID=p8 says what it lacks.", file=sys.stderr)
        return 2
    try:
        paths = written(f"{id}_{slug}")
    except FileExistsError as there:
        print(there, file=sys.stderr)
        return 2
    print("\n".join(str(path.relative_to(ROOT)) for path in paths))
    return subprocess.run([sys.executable, "-m", "checker", "build"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
