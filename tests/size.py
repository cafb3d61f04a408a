"""The size of the project, by folder: lines of Python, of words, of data. More than `size.txt` allows is a failure.

make size    or    python -m tests.size
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests import skeleton

ROOT = Path(__file__).parents[1]
CROWDED, LONG = 20, 350  # files of a folder, lines of a file: what is above is named
KINDS = {".py": "Python", ".md": "words", ".toml": "data", ".json": "data"}
# Kernels there are what tests are about.
DATA = ("tests/wrong", "tests/right", "tests/hostile", "tests/own/right", "tests/own/wrong")
LIMITS = Path(__file__).with_suffix(".txt")
DERIVED = ("checker/learner/stubs/*", "puzzles/*/*.py")


def tracked() -> list[Path]:
    """What git tracks, and has not been removed."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in names.split("\0") if name and (ROOT / name).exists()]


def room(path: Path) -> str:
    """Where it belongs: a room of the checker or of the tests, or else the folder at the top."""
    deep = path.parts[0] in ("checker", "tests") and len(path.parts) > 2
    return "/".join(path.parts[: 2 if deep else 1]) if len(path.parts) > 1 else "."


def kind(path: Path) -> str | None:
    """What its lines are."""
    return "data" if path.as_posix().startswith(DATA) else KINDS.get(path.suffix)


def lines_of(path: Path) -> int:
    """All of its lines."""
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def statements_of(path: Path) -> int:
    """Its lines with code on them: no comments, no docstrings, nothing blank."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    return len({node.lineno for node in nodes if isinstance(node, ast.expr | ast.stmt) and not _is_text(node)})


def _is_text(node: ast.AST) -> bool:
    """A text, such as a docstring or a part of a sentence."""
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def report(paths: Iterable[Path]) -> str:
    """A row for each room, and what stands out."""
    counted: dict[str, Counter[str]] = {}
    folders: Counter[Path] = Counter()
    long = []
    for path in paths:
        if (what := kind(path)) is None or any(map(path.match, DERIVED)):
            continue
        of_room = counted.setdefault(room(path), Counter())
        of_room[what] += (count := lines_of(path))
        if what == "Python":
            of_room["of it code"] += statements_of(path)
            if path.parts[0] == "checker":
                folders[path.parent] += 1
                long += [f"{path} {count}"] if count > LONG else []
    columns = ("Python", "of it code", "words", "data")
    rows = [("", *columns)] + [(name, *(counted[name][c] for c in columns)) for name in sorted(counted)]
    for top in ("checker", "tests"):
        every = sum((counted[name] for name in counted if name.split("/")[0] == top), Counter())
        rows.append((f"{top} in all", *(every[c] for c in columns)))
    table = "\n".join(f"{name:<22}" + "".join(f"{number or '':>12}" for number in numbers) for name, *numbers in rows)
    crowded = [f"{folder} {count}" for folder, count in folders.most_common() if count > CROWDED]
    return (
        f"{table}\n\nfolders of checker/ with more than {CROWDED} files: {', '.join(crowded) or 'none'}\n"
        f"files of checker/ with more than {LONG} lines: {', '.join(long) or 'none'}"
    )


def limited(paths: Iterable[Path]) -> dict[str, int]:
    """What `size.txt` limits: lines of Python in checker/; and all Python and TOML there, in tests/ and in benchmarks/.

    What moves from the first to the others makes the project no smaller.
    """
    counted = {"checker": 0, "everything": 0}
    for path in paths:
        rooms = path.parts[0] in ("checker", "tests", "benchmarks") and not any(map(path.match, DERIVED))
        if rooms and path.suffix in (".py", ".toml"):
            counted["everything"] += (lines := lines_of(path))
            counted["checker"] += lines if path.parts[0] == "checker" and path.suffix == ".py" else 0
    return counted


def marginal() -> dict[str, int]:
    """What one more of a kind costs, in lines: a puzzle that passes every test, in so many files; a named mistake."""
    lengths = {name: lines_of(skeleton.SKELETON.relative_to(ROOT) / name) for name in skeleton.FILES}
    mistake = sum(lengths.pop(name) for name in skeleton.MISTAKE)
    return {"puzzle": sum(lengths.values()) + 1, "files_of_a_puzzle": len(lengths), "mistake": mistake + 1}


def too_large(counted: dict[str, int], limits: str) -> list[str]:
    """A sentence for each number above its limit. `limits`: lines such as `checker 100  # why it was raised`."""
    said = [line.split() for line in limits.splitlines() if line[:1].isalpha()]
    most = {name: int(number) for name, number, *_ in said}
    return [
        f"{name}: {counted[name]}, and {LIMITS.name} allows {limit}. Remove as many, or say there why it grows."
        for name, limit in most.items()
        if counted[name] > limit
    ]


def main() -> int:
    """Print the report; 1 if something is too large."""
    paths = tracked()
    print(report(paths))
    counted = limited(paths) | marginal()
    refused = too_large(counted, LIMITS.read_text(encoding="utf-8"))
    print("\n".join(["", *refused] if refused else [f"\nin {LIMITS.name}: {counted}"]))
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
