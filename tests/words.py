"""The length of the lessons: words of prose before *Your turn*, and in all.

make words    or    python -m tests.words
"""

from __future__ import annotations

from checker.course import ladder, places
from checker.course.lesson import prose, script_cells

MOST = dict.fromkeys(ladder.RUNGS, 900)  # before *Your turn*
MOST |= {"w1": 260, "w2": 360, "w3": 410, "p1": 450, "p2": 390, "p3": 450}
MOST |= {"p4": 450, "a1": 550, "a2": 780, "a3": 770, "p5": 870, "p6": 600, "a4": 830, "p7": 850}
MOST |= {"b1": 630, "b2": 710, "b3": 670, "c1": 670}
MOST_IN_ALL = 23_700  # of all lessons together


def words(puzzle_id: str) -> tuple[int, int]:
    """Of a lesson: before *Your turn*, and in all."""
    cells = script_cells(places.script(puzzle_id).read_text(encoding="utf-8"))
    text = "\n\n".join(source for kind, source in cells if kind == "markdown")
    above, found, _ = text.partition("\n## Your turn")
    assert found, puzzle_id
    return prose(above), prose(text)


def main() -> None:
    """Print a line for each lesson."""
    counted = {puzzle_id: words(puzzle_id) for puzzle_id in ladder.RUNGS}
    print("lesson   before Your turn   at most   in all")
    for puzzle_id, (before, whole) in counted.items():
        print(f"{puzzle_id:6} {before:18} {MOST[puzzle_id]:9} {whole:8}")
    print(f"all {sum(whole for _, whole in counted.values()):40}   (at most {MOST_IN_ALL})")


if __name__ == "__main__":
    main()
