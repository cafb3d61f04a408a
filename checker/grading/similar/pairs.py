"""Pairs of submissions that share what is neither the course's own nor common in the class.

Short kernels that follow a lesson are alike by nature, so likeness alone says nothing. What counts are fingerprints
that are in neither stub, lesson nor solution, and that few students have. Pairs are made of what has such a fingerprint
in common, and never of everything with everything, so that a class may be large.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations, product
from pathlib import Path

from checker import catalog
from checker.course import places
from checker.course.lesson import emptied
from checker.course.puzzle import Puzzle
from checker.grading.chosen import kernels_of
from checker.grading.similar.fingerprints import GRAM, grams, tokens, winnowed
from checker.submission.read import Submission, from_cells

FEW, PERCENT, MOST = 5, 5, 20  # students: what more than PERCENT of them have, at least FEW and at most MOST, is common
LEAST = 8  # fingerprints in common; three or four lines
MOST_PAIRS = 100  # of a puzzle: nobody reads more
SHARE = 0.6  # of those that the shorter of the two has and few others


@dataclass
class Text:
    """A text without names and layout."""

    prints: frozenset[int]
    copies: dict[str, str] = field(default_factory=dict)  # as it was written, by student


@dataclass(frozen=True)
class Side:
    """One half of a pair: a text as one student wrote it, and which lines of it the other half has, too."""

    student: str
    lines: tuple[str, ...]
    marked: frozenset[int]  # of lines


@dataclass(frozen=True)
class Pair:
    """Two submissions to look at."""

    left: Side
    right: Side
    shared: int  # fingerprints that few others have
    of: int  # as many of them has the shorter one
    few: int  # at most so many students have each of them
    others: tuple[str, ...]  # who has handed in one of the two texts, too


@dataclass(frozen=True)
class Found:
    """The similar pairs of a class in one puzzle."""

    puzzle: str  # its ID
    pairs: tuple[Pair, ...]  # those with most in common, and at most MOST_PAIRS
    total: int  # how many there are


def found(
    puzzle_id: str,
    handed: Iterable[tuple[str, Submission]],
    root: Path = places.ROOT,
    earlier: Iterable[tuple[str, Submission]] = (),
) -> Found:
    """Return the pairs among (student, submission) for one puzzle; `earlier`: of other classes, who make none by
    themselves.

    Nobody is in both.
    """
    puzzle, others = catalog.load(puzzle_id), list(earlier)
    texts = _texts(puzzle, [*handed, *others])
    elsewhere = {student for student, _ in others}
    known = _known(puzzle, root)
    students: dict[int, set[str]] = defaultdict(set)
    for text in texts:
        for one in text.prints:
            students[one].update(text.copies)
    everybody = {student for text in texts for student in text.copies}
    few = max(FEW, min(MOST, len(everybody) * PERCENT // 100))
    rare = {one for one, who in students.items() if len(who) <= few and one not in known}
    own = [rare & text.prints for text in texts]
    alike = []
    for a, b, shared in _in_common(texts, own):
        of = min(len(own[a]), len(own[b]))
        if (texts[a].copies.keys() | texts[b].copies.keys()) <= elsewhere:
            continue
        if shared >= max(LEAST, SHARE * of):
            alike.append((-shared, of, a, b))
    most = sorted(alike)[:MOST_PAIRS]
    return Found(
        puzzle_id, tuple(_pair(texts[a], texts[b], own[a] & own[b], of, few) for _, of, a, b in most), len(alike)
    )


def _in_common(texts: Sequence[Text], own: Sequence[Set[int]]) -> Iterator[tuple[int, int, int]]:
    """(position of a text, of another, how many fingerprints they share) of those that share any.

    A text that several students have handed in is a pair with itself.
    """
    holders: dict[int, list[int]] = defaultdict(list)
    for position, prints in enumerate(own):
        for one in prints:
            holders[one].append(position)
        if len(texts[position].copies) > 1:
            yield position, position, len(prints)
    owners = [frozenset(text.copies) for text in texts]
    counts: Counter[tuple[int, int]] = Counter()
    for who in holders.values():
        counts.update(_of_two(who, owners))
    for (a, b), shared in counts.items():
        yield a, b, shared


def _of_two(who: Sequence[int], owners: Sequence[Set[str]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of texts that are not one student's alone: somebody may have handed in a thousand of his own."""
    groups: dict[Set[str], list[int]] = defaultdict(list)
    for position in who:
        groups[owners[position]].append(position)
    for students, group in groups.items():
        if len(students) > 1:
            yield from combinations(group, 2)
    for one, other in combinations(groups.values(), 2):
        for a, b in product(one, other):
            yield min(a, b), max(a, b)


def _pair(left: Text, right: Text, shared: Set[int], of: int, few: int) -> Pair:
    one = next(iter(left.copies))
    other = next(student for student in (*right.copies, *left.copies) if student != one)
    there = right.copies[other] if other in right.copies else left.copies[other]
    others = sorted((left.copies.keys() | right.copies.keys()) - {one, other})
    return Pair(_side(one, left.copies[one], shared), _side(other, there, shared), len(shared), of, few, tuple(others))


def _side(student: str, source: str, shared: Set[int]) -> Side:
    words = tokens(source)
    prints = winnowed(grams(words))
    starts = [start for one in shared for start in prints[one]]
    marked = {word.line for start in starts for word in words[start : start + GRAM]}
    return Side(student, tuple(source.split("\n")), frozenset(marked))


def _texts(puzzle: Puzzle, handed: Iterable[tuple[str, Submission]]) -> list[Text]:
    """Return the distinct texts; a class has many that are the same but for names."""
    texts: dict[str, Text] = {}
    for student, submission in handed:
        source = kernels_of(puzzle, submission)
        numbers = grams(tokens(source))
        name = sha256(repr(numbers).encode()).hexdigest()
        text = texts.setdefault(name, Text(frozenset(winnowed(numbers))))
        text.copies.setdefault(student, source)
    return list(texts.values())


def _known(puzzle: Puzzle, root: Path) -> set[int]:
    """Return the numbers of all that the course itself says: the stub, the lesson, the solution if it is there."""
    lesson = emptied(places.script(puzzle.id, root).read_text(encoding="utf-8"), puzzle)
    texts = [lesson]
    if (solution := places.solution(puzzle.id, root)).exists():
        texts.append(solution.read_text(encoding="utf-8"))
    said = [tokens(kernels_of(puzzle, from_cells([("code", text)], "", numbered=False))) for text in texts]
    said += map(tokens, texts)  # who has no kernel that can be told from the rest is compared with all of it
    # Line by line: prose may open what it never closes.
    said.append([token for line in lesson.split("\n") for token in tokens(line.lstrip("# "))])
    return {number for words in said for number in grams(words)}
