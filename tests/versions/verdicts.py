"""`python -m tests.versions.verdicts`: all solutions and some wrong kernels get their verdicts, with this Triton.

Which ones depends on the number of commits, as for slices. What needs PyTorch is left out. It takes no more
than what the course itself needs, so it runs in an environment that has nothing else.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

from checker.check import Conditions, check
from checker.course import ladder
from checker.sandbox.host import Host
from checker.submission.read import from_cells
from tests.kernels import Kernel, kernels
from tests.slices import commits

SOME = 24


def tried() -> list[Kernel]:
    """The kernels."""
    solutions, wrong = (
        [one for one in kernels(folder) if not ladder.RUNGS[one.puzzle].pytorch] for folder in ("solutions", "wrong")
    )
    return solutions + random.Random(commits()).sample(wrong, SOME)


def flaws() -> Iterator[str]:
    """What is not as it must be, a line each."""
    with Host(kept=True) as host:
        for one in tried():
            submission = from_cells([("code", one.text)], f"{one.name}.py", numbered=False)
            verdict = check(one.puzzle, submission, Conditions(host=host)).verdict
            found = tuple(finding.id for finding in verdict.findings)
            if not (verdict.accepted if one.folder == "solutions" else found == one.findings):
                yield f"{one.name}: {' and '.join(found) or verdict.status.value}"


def main() -> int:
    """1 if a verdict is another one."""
    lines = list(flaws())
    print("\n".join(lines) or f"{len(tried())} kernels got their verdicts.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
