"""Students in nbgrader's gradebook, without nbgrader, which takes two seconds to import; and odd names."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from checker.course.clean import ORDERS
from checker.course.status import Misuse


def is_odd(name: str) -> bool:
    """Return whether this can be nobody's name: it hides or leads elsewhere, or gives orders to whatever shows it.

    nbgrader would stop at some of these, and everybody who comes after them would have no grade.
    """
    return not name or name.startswith(".") or ORDERS.search(name) is not None or "\n" in name or "\t" in name


def students(course: Path) -> set[str]:
    """Return the students of a course; nobody if there is no gradebook yet. Raises Misuse."""
    path = course / "gradebook.db"
    if not path.exists():
        return set()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as book:
            return {str(id) for (id,) in book.execute("SELECT id FROM student")}
    except sqlite3.Error as error:
        raise Misuse(f"{path} cannot be read: {error}.") from error
