"""The kernels that tests check: right, wrong and hostile ones, and the solutions.

    python -m tests.kernels                lists the wrong ones, each with the finding that it must get
    python -m tests.kernels p6_lse_is_l    prints the whole text of one

Most wrong kernels are edits of their puzzle's solution, and so are some right ones. They stand in `tests/wrong/ID.diff`
and `tests/right/ID.diff`, in the form of `checker/course/edits.py`. A kernel that has little in common with the
solution is a whole file, `ID_….py`; so is the one that the README's report is about, which `python -m checker build`
reads.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from checker.course.edits import BadEdit, Edited, code_of, read

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "solutions": ROOT / "solutions",
    "right": ROOT / "tests" / "right",
    "wrong": ROOT / "tests" / "wrong",
    "hostile": ROOT / "tests" / "hostile",
}


@dataclass(frozen=True, order=True)
class Kernel:
    """A kernel as a student would hand it in. What is expected of it stands in its docstring."""

    name: str
    folder: str
    text: str

    @property
    def puzzle(self) -> str:
        """The ID of its puzzle."""
        return self.name.partition("_")[0]

    @property
    def says(self) -> str:
        """What its docstring says of it, without what is expected."""
        return self.text.split('"""')[1].partition("\n\n")[0]

    @property
    def findings(self) -> tuple[str, ...]:
        """What a wrong one must get, in order."""
        return tuple(self.expected("Finding").split(" and "))

    def expected(self, label: str) -> str:
        """What its docstring says after `label:`."""
        found = re.search(rf"^{label}: (\S+(?: (?:or|and) \S+)*)$", self.text, re.MULTILINE)
        assert found, f"{self.name} must say `{label}: …`"
        return found[1]

    def write(self, folder: Path) -> Path:
        """Its file in a folder, for who needs one."""
        path = folder / f"{self.name}.py"
        path.write_bytes(self.text.encode())
        return path


def _made(folder: str, solution: str, entry: Edited) -> Kernel:
    """The solution, edited, under a docstring of its own."""
    must = f"\n\nFinding: {' and '.join(entry.findings)}\n" if entry.findings else ""
    return Kernel(entry.name, folder, f'"""{entry.says}{must}"""\n{entry.made_of(code_of(solution))}')


def _of_folder(folder: str) -> Iterator[Kernel]:
    for path in FOLDERS[folder].glob("[a-z][0-9]*_*.py"):
        yield Kernel(path.stem, folder, path.read_bytes().decode())
    for path in FOLDERS[folder].glob("[a-z][0-9]*.diff"):
        [solution] = FOLDERS["solutions"].glob(f"{path.stem}_*.py")
        text = solution.read_text(encoding="utf-8")
        yield from (_made(folder, text, entry) for entry in read(path).values())


@cache
def kernels(folder: str) -> tuple[Kernel, ...]:
    """The kernels of a folder, by name. Raises BadEdit."""
    return tuple(sorted(_of_folder(folder)))


def named(name: str) -> Kernel:
    """The kernel of a name. Raises LookupError with a sentence."""
    every = {one.name: one for folder in FOLDERS for one in kernels(folder)}
    if name in every:
        return every[name]
    near = difflib.get_close_matches(name, every, n=5)
    advice = f"Is it {' or '.join(near)}?" if near else "`python -m tests.kernels` lists the wrong ones."
    raise LookupError(f"There is no kernel {name}. {advice}")


def main(arguments: list[str]) -> int:
    """Print one kernel, or a list of the wrong ones."""
    try:
        if arguments:
            print("".join(named(name).text for name in arguments), end="")
        else:
            for one in kernels("wrong"):
                print(f"{one.name}: {' and '.join(one.findings)}. {one.says}")
    except (LookupError, BadEdit) as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
