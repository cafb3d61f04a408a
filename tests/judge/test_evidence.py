"""The place of a submission's line."""

from __future__ import annotations

from checker.judge.evidence import locator
from checker.submission.read import from_cells


def test_a_line_stands_among_those_of_its_own_text() -> None:
    """Also where what is above it is of another text without a number: on a page, the imports."""
    where = locator(from_cells([("code", "import a\nimport b"), ("code", "one\ntwo")], "editor", numbered=False))(3)
    assert (where.line, where.source) == (1, ((1, "one"), (2, "two")))
