"""The trap table: what the checker says of programs that others print, and of wrong kernels that other judges accept.

All of them are edits of a solution, in `tests/wrong` or `tests/right`. The programs are checked when their table is
made. The others get the finding that stands with their edits, as tests see to, and what other judges make of them
stands in `benchmarks/results/peers.json`, where `benchmarks/peers.py` puts it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from checker import catalog
from checker.box.host import Host
from checker.check import Terms, check
from checker.course import places
from checker.course.edits import Edited, code_of, read
from checker.course.ladder import ORDER
from checker.course.verdict import Verdict
from checker.submission.read import from_cells

PEERS = "benchmarks/results/peers.json"
EDITS = ("tests/right", "tests/wrong")
OF_SOURCE = re.compile(r"(\w\d)_of_source_(\d{3})\w*")
ZEROS = "p6_zeros"  # beside the ten: a kernel that computes nothing
_Figures = Mapping[str, Any]


def sources(root: Path) -> str:
    """The programs of the course's sources, in its stubs."""
    found = [match for name in _kernels(root) if (match := OF_SOURCE.fullmatch(name))]
    rows = []
    with Host(kept=True) as host:
        for match in sorted(found, key=lambda match: (ORDER.index(match[1]), match[0])):
            verdict, says = _verdict(match[0], root, host), _kernels(root)[match[0]].says
            said = "<br>".join(f"{one.title} `[{one.id}]`" for one in verdict.findings) or "Accepted"
            rows.append((f"{match[1]}, from {match[2]}", says, said, verdict.earned))
    return _table(("program", "what it does", "what the checker says", "points"), rows)


def judges(root: Path) -> str:
    """The ten wrong kernels, and one that returns zeros, by judges: a letter each, and what this course says."""
    figures = _figures(root)
    kernels, others = figures["kernels"], figures["judges"].values()
    rows = [
        (one["says"], *(letters(one, judge, kernel) for judge in others), f"x `[{_kernels(root)[kernel].findings[0]}]`")
        for kernel, one in {**kernels, ZEROS: {"says": "O is 0"}}.items()
    ]
    counts = [sum(letters(one, judge, kernel)[0] == "A" for kernel, one in kernels.items()) for judge in others]
    rows.insert(len(kernels), ("**A, of these ten**", *(f"**{count}**" for count in counts), "**0**"))
    return _table(("wrong kernel", *figures["judges"], "this course"), rows)


def runs(root: Path) -> str:
    """The judges that `benchmarks/peers.py` has driven, and how."""
    driven = {name: one["measured"] for name, one in _figures(root)["judges"].items() if "measured" in one}
    rows = [
        (name, f"`{run['commit']}`", run["ran"], run["date"], ", ".join(map(" ".join, run["versions"].items())))
        for name, run in driven.items()
    ]
    return _table(("judge", "commit", "what ran", "date", "versions"), rows)


def front(root: Path) -> str:
    """For the README: how many judges ask for what each kernel gets wrong, and which of them accept it."""
    figures = _figures(root)
    titles = {idea.id: idea.title for idea in reversed(catalog.load("p6").misconceptions)}  # of variants, the first's
    rows = []
    for kernel, one in figures["kernels"].items():
        asking = [name for name, judge in figures["judges"].items() if _asked(one, judge)]
        accepting = [name for name in asking if letters(one, figures["judges"][name], kernel)[0] == "A"]
        title = titles[_kernels(root)[kernel].findings[0]]
        rows.append((one["says"], len(asking), ", ".join(accepting) or "none", title))
    return _table(("a wrong kernel", "judges that ask", "those that accept it", "its name here"), rows)


TABLES: Mapping[str, Callable[[Path], str]] = {"sources": sources, "judges": judges, "runs": runs, "traps": front}


def can_be_made(root: Path) -> bool:
    """Not in a copy of the course for students, nor without PyTorch, in which two of the programs are."""
    return all((root / part).exists() for part in (PEERS, *EDITS)) and find_spec("torch") is not None


def letters(kernel: _Figures, judge: _Figures, name: str) -> str:
    """What a judge makes of a kernel, as it is now, and as it was recorded if that is something else.

    A: accepted, though wrong in what the judge asks for. a: accepted, and right in that. x: refused. !: it died.
    """
    accepted = "A" if _asked(kernel, judge) else "a"
    letter = {"accepted": accepted, "refused": "x", "died": "!"}
    now, before = (letter[judge.get(run, judge["recorded"])["outcomes"][name]] for run in ("measured", "recorded"))
    return now if now == before else f"{now} (was {before})"


def _asked(kernel: _Figures, judge: _Figures) -> bool:
    """Whether a judge asks for what a kernel gets wrong, such as lengths that tiles do not divide."""
    return set(kernel.get("wrong_if", ())) <= set(judge["asks"])


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(map(str, line))} |" for line in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]]) + "\n"


def _figures(root: Path) -> _Figures:
    found: _Figures = json.loads((root / PEERS).read_text(encoding="utf-8"))
    return found


@cache
def _kernels(root: Path) -> Mapping[str, Edited]:
    paths = [path for folder in EDITS for path in (root / folder).glob("*.diff")]
    return {name: kernel for path in paths for name, kernel in read(path).items()}


def _verdict(name: str, root: Path, host: Host) -> Verdict:
    """Not compiled, since what compilers say differs from one version to the next."""
    puzzle_id = name.partition("_")[0]
    text = _kernels(root)[name].made_of(code_of(places.solution(puzzle_id, root).read_text(encoding="utf-8")))
    terms = Terms(targets=(), host=host)
    return check(puzzle_id, from_cells([("code", text)], "kernel.py", numbered=False), terms).verdict
