"""`python3 -m tests.gpu.agreement [PATTERN ...]`: do the GPU and the interpreter give the same verdicts?

Checks kernels of `tests/right`, `tests/wrong` and `solutions` on the GPU and prints one line each that
differs from what the interpreter says of it; the summary is written to $OUT, or here, as `agreement.md`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from checker.check import Conditions
from checker.course.verdict import Verdict
from tests.conftest import ROOT, check_kernel
from tests.kernels import Kernel, kernels

AT_ONCE = int(os.environ.get("AT_ONCE", "6"))

# What only the interpreter sees, and why: ids of findings, and names of kernels where a GPU sees the same in others.
UNSEEN = {
    "accesses and products are not counted": (
        *("read-too-often", "read-at-all", "written-too-often", "written-at-all", "read-too-seldom", "three-sweeps"),
        *("keys-read-three-times", "row-kept-in-registers", "loops-swapped", "accumulator-in-memory"),
        *("blocks-not-skipped", "hidden-tile-computed", "multiplied-too-much", "multiplied-by-hand"),
        *("block-too-large", "no-tiles", "lanes-far-apart"),
        *("bias-in-the-loop", "parts-read-twice", "next-splits-keys-loaded"),
    ),
    "nobody sees which lines are reached": ("never-reached",),
    "roundings are not seen, and this one changes too little": (
        *("rounded-on-the-way", "fp32-rounded-on-the-way", "half-sum", "accumulator-in-half"),
    ),
    "only a few programs of a huge grid show it, and a GPU runs it whole": ("offset-in-32-bits", "sizes-multiplied"),
    "no GPU has the memory that would show it": ("w1_offsets_in_32_bits",),
    "threads happen to come in an order that is right": ("missing-barrier", "written-twice", "lanes-collide"),
    "masked lanes without `other` happen to hold 0": ("undefined-masked-lanes",),
    "what is read from outside is masked away later": (
        *("load-without-mask", "keys-without-mask", "queries-without-mask", "rows-without-mask", "mask-off-by-one"),
        *("bias-without-mask", "padded-rows-read", "rows-read-again"),
    ),
    "a GPU comes to an end: it leaves out loads of which nothing comes, and empty steps cost it little": (
        "time-limit",
    ),
    "what is stored in x is what was there": ("w3_input_changed",),
    "scores that large leave more of scale * s - m than exp takes, where a GPU rounds it once": (
        "p6_starts_at_minus_1e10",
    ),
}


@dataclass(frozen=True)
class Outcome:
    """One kernel: what the interpreter says (from its docstring), and what the GPU said."""

    kernel: Kernel
    expected: str
    verdict: Verdict | None
    problem: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether it is one of the kernels that must be accepted."""
        return self.kernel.folder != "wrong"

    @property
    def first(self) -> str:
        """The first finding on the GPU."""
        if self.verdict is None:
            return self.problem
        return self.verdict.findings[0].id if self.verdict.findings else self.verdict.status.value

    @property
    def left_out(self) -> bool:
        """Whether a case did not fit beside what others had on the GPU."""
        return self.verdict is not None and any("not enough free memory" in remark for remark in self.verdict.remarks)

    @property
    def agrees(self) -> bool:
        """Accepted here and there, or refused here and there."""
        return self.verdict is not None and self.verdict.accepted == self.right

    @property
    def reason(self) -> str:
        """Why the GPU may accept what the interpreter refuses; nothing if it may not."""
        named, found = self.kernel.name, self.expected.split(" and ")
        reasons = (why for why, ids in UNSEEN.items() if named in ids or all(id in ids for id in found))
        return "" if self.right else next(reasons, "")


def outcome(kernel: Kernel) -> Outcome:
    """Check one kernel on the GPU."""
    expected = kernel.expected("Finding") if kernel.folder == "wrong" else "accepted"
    begun = time.monotonic()
    try:
        verdict, problem = check_kernel(kernel, Conditions(device="cuda", targets=())), ""
    except Exception as error:
        verdict, problem = None, f"{type(error).__name__}: {error}"
    return Outcome(kernel, expected, verdict, problem, time.monotonic() - begun)


def chosen(patterns: list[str]) -> list[Kernel]:
    """Kernels whose name matches one of the patterns, those that must be accepted first."""
    every = (*kernels("solutions"), *kernels("right"), *kernels("wrong"))
    return [kernel for kernel in every if any(fnmatchcase(f"{kernel.name}.py", pattern) for pattern in patterns)]


def main() -> int:
    """Print and write the table; 1 if something differs for no known reason."""
    import torch
    import triton

    patterns = sys.argv[1:] or ["p*.py"]
    with ProcessPoolExecutor(AT_ONCE) as pool:
        outcomes = []
        for one in pool.map(outcome, chosen(patterns)):
            outcomes.append(one)
            print(
                f"{one.kernel.folder}/{one.kernel.name}: {one.first} ({one.seconds:.0f} s)", file=sys.stderr, flush=True
            )
    # Several checks share the GPU's memory. What might come of that is checked again, alone.
    outcomes = [
        outcome(o.kernel) if not o.reason and (not o.agrees or (o.left_out and o.right)) else o for o in outcomes
    ]
    commit = subprocess.run(["git", "describe", "--always"], cwd=ROOT, capture_output=True, text=True, check=False)
    right, wrong = [o for o in outcomes if o.right], [o for o in outcomes if not o.right]
    counts = [
        f"{sum(o.agrees for o in right)} of {len(right)} right kernels accepted",
        f"{sum(o.agrees for o in wrong)} of {len(wrong)} wrong kernels refused",
        f"{sum(o.first == o.expected.split()[0] for o in wrong)} of these by the same name",
    ]
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {torch.cuda.get_device_name()}, torch {torch.__version__}, triton "
        f"{triton.__version__}, commit {commit.stdout.strip() or 'unknown'}; kernels {' '.join(patterns)}: "
        f"{', '.join(counts)}.",
        "",
        "| kernel | interpreter | GPU | |",
        "|---|---|---|---|",
    ]
    for o in outcomes:
        if not o.agrees:
            lines.append(f"| {o.kernel.folder}/{o.kernel.name} | {o.expected} | {o.first} | {o.reason or '**?**'} |")
    text = "\n".join(lines) + "\n"
    print(text)
    seconds = sorted(o.seconds for o in outcomes)
    print(f"slowest: {seconds[-1]:.0f} s, median {seconds[len(seconds) // 2]:.0f} s")
    Path(os.environ.get("OUT", "."), "agreement.md").write_text(text, encoding="utf-8")
    for o in outcomes:
        if not o.agrees and o.right:
            print(o.kernel.name, o.problem, o.verdict.findings[:2] if o.verdict else "")
    return int(any(not o.agrees and not o.reason for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
