"""Notebooks that were made, or have come, to break grading: none gains a point, none stops the batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nbgrader.conftest import ASSIGNMENT, CHECK, KERNEL, RIGHT, Course, Done, Notebook, filled

WRONG = RIGHT.replace("numerator / denominator", "numerator")
FORGED = [
    {"output_type": "execute_result", "data": {"text/plain": "100.0"}, "metadata": {}, "execution_count": 1},
    {"output_type": "stream", "name": "stdout", "text": "accepted"},
]
SCRIPT = "<script>alert(1)</script>"
ANSI = "\x1b[2J\x1b[31mred"


def forged_outputs(notebook: Notebook) -> None:
    filled(WRONG)(notebook)
    notebook["cells"][CHECK]["outputs"] = FORGED


def forged_metadata(notebook: Notebook) -> None:
    """Points, locks and kinds changed; graded cells where there are none; another schema."""
    filled(WRONG)(notebook)
    notebook["cells"][CHECK]["metadata"]["nbgrader"] |= {"points": 1000, "locked": False, "solution": True}
    notebook["cells"][CHECK]["source"] = "100.0"
    notebook["cells"][KERNEL]["metadata"]["nbgrader"] |= {"grade": True, "points": 1e9, "schema_version": 99}
    notebook["cells"][0]["metadata"]["nbgrader"] = {"grade_id": ["a", "list"], "grade": "yes"}
    notebook["cells"][1]["metadata"] = "no dictionary"


def forged_ids(notebook: Notebook) -> None:
    """The graded cell's id on another cell, the kernel's on the graded cell."""
    filled(WRONG)(notebook)
    notebook["cells"][KERNEL]["metadata"]["nbgrader"]["grade_id"] = f"check-{ASSIGNMENT}"
    notebook["cells"][CHECK]["metadata"]["nbgrader"]["grade_id"] = "naive_softmax_kernel"


def other_language(notebook: Notebook) -> None:
    notebook["metadata"] = {
        "kernelspec": {"name": "ir", "display_name": "R", "language": "R"},
        "language_info": {"name": "R"},
    }
    notebook["cells"][KERNEL]["source"] = "softmax <- function(x) exp(x) / sum(exp(x))"


def script_everywhere(notebook: Notebook) -> None:
    """HTML, a script and ANSI codes wherever an instructor may read them."""
    kernel = WRONG.replace("row =", f'"{SCRIPT}{ANSI}"\n    row =').replace(
        "mask = cols", f"mask = cols  # {SCRIPT}\n   "
    )
    notebook["cells"][KERNEL]["source"] = kernel + f"\n# {SCRIPT}{ANSI}"
    notebook["cells"][0]["source"] = SCRIPT
    notebook["cells"][2] = {"cell_type": "raw", "id": "raw", "metadata": {"format": "text/html"}, "source": SCRIPT}
    notebook["cells"][4]["source"] = f"```\n```\n{SCRIPT}\n![x](javascript:alert(1))\n~~~"
    notebook["cells"][6]["attachments"] = {"x.svg": {"image/svg+xml": "PHN2Zz4="}}
    notebook["cells"][CHECK]["outputs"] = [
        {"output_type": "display_data", "data": {"text/html": SCRIPT}, "metadata": {}}
    ]
    notebook["metadata"]["title"] = SCRIPT


def twice_in_one_cell(notebook: Notebook) -> None:
    filled(RIGHT + "\n\n" + WRONG)(notebook)


def signature_changed(notebook: Notebook) -> None:
    filled(RIGHT.replace("n_cols, BLOCK_SIZE", "n_columns, BLOCK_SIZE").replace("n_cols\n", "n_columns\n"))(notebook)


def lone_surrogate(notebook: Notebook) -> None:
    filled(WRONG + "\n# \ud800")(notebook)


def much_code(notebook: Notebook) -> None:
    """Correct, and with a cell that takes gigabytes to parse."""
    filled(RIGHT)(notebook)
    notebook["cells"][0] |= {"cell_type": "code", "source": "x = 1\n" * 1_500_000}


def everything_deleted(notebook: Notebook) -> None:
    notebook["cells"] = []


Change = Callable[[Notebook], object] | bytes
POINTLESS: dict[str, Change] = {
    "not-utf-8": b'{"cells": [], "metadata": {"\xff": 1}}',
    "utf-16": "{}".encode("utf-16"),
    "truncated": b'{"cells": [{"cell_type": "code", "source": "',
    "empty": b"",
    "deep": b"[" * 200_000,
    "many-objects": b'{"cells": [' + b"{}," * 3_000_000 + b"{}]}",
    "many-cells": b'{"cells": [' + b"{}," * 100_000 + b"{}]}",
    "not-a-notebook": b'{"worksheets": []}',
    "cells-of-another-kind": b'{"cells": [1, null, {"source": {"a": 1}}]}',
    "forged-outputs": forged_outputs,
    "forged-metadata": forged_metadata,
    "forged-ids": forged_ids,
    "other-language": other_language,
    "script": script_everywhere,
    "twice-in-one-cell": twice_in_one_cell,
    "signature-changed": signature_changed,
    "lone-surrogate": lone_surrogate,
    "everything-deleted": everything_deleted,
    "much-code": much_code,
}


UNREADABLE = {
    *("not-utf-8", "utf-16", "truncated", "empty", "deep", "many-objects", "many-cells", "not-a-notebook"),
    *("cells-of-another-kind", "much-code", "huge", "link"),
}


def moved_and_renamed(notebook: Notebook) -> None:
    """Right, but cells have changed places, and the ids are edited."""
    filled(RIGHT)(notebook)
    notebook["cells"][KERNEL]["metadata"]["nbgrader"]["grade_id"] = "mine"
    notebook["cells"][CHECK]["metadata"]["nbgrader"]["grade_id"] = "mine"
    notebook["cells"].insert(0, notebook["cells"].pop(KERNEL))


def no_metadata(notebook: Notebook) -> None:
    """As a front end leaves it that knows nothing of nbgrader."""
    filled(RIGHT)(notebook)
    notebook["metadata"] = {}
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def copied_cell(notebook: Notebook) -> None:
    filled(RIGHT)(notebook)
    notebook["cells"].insert(KERNEL, json.loads(json.dumps(notebook["cells"][KERNEL])) | {"id": "copy"})


def copied_differently(notebook: Notebook) -> None:
    """The kernel's cell twice, marks and all; what was run last is wrong."""
    filled(RIGHT)(notebook)
    copy = json.loads(json.dumps(notebook["cells"][KERNEL])) | {"id": "copy", "source": WRONG}
    notebook["cells"].insert(KERNEL, copy | {"execution_count": 7})


def another_of_the_same_name(notebook: Notebook) -> None:
    """The stub is left as it was, and the work is in a new cell below it."""
    right = json.loads(json.dumps(notebook["cells"][KERNEL])) | {"id": "new", "metadata": {}, "source": RIGHT}
    notebook["cells"].insert(CHECK, right)


def draft_left_over(notebook: Notebook) -> None:
    """An earlier try in a cell of its own, and one that Python cannot read."""
    filled(RIGHT)(notebook)
    for id, text in (("draft", WRONG), ("broken", WRONG.replace("row =", "row = ("))):
        cell: dict[str, Any] = {"cell_type": "code", "id": id, "metadata": {}, "outputs": [], "execution_count": 1}
        notebook["cells"].append(cell | {"source": text})


def in_the_graded_cell(notebook: Notebook) -> None:
    """Right, but typed into the cell that checks."""
    notebook["cells"][CHECK]["source"] = RIGHT
    del notebook["cells"][KERNEL]


def crlf_and_tabs(notebook: Notebook) -> None:
    filled(RIGHT.replace("    ", "\t").replace("\n", "\r\n"))(notebook)


HONEST: dict[str, Change] = {
    "moved-and-renamed": moved_and_renamed,
    "no-metadata": no_metadata,
    "copied-cell": copied_cell,
    "copied-differently": copied_differently,
    "below-the-stub": another_of_the_same_name,
    "draft-left-over": draft_left_over,
    "in-the-graded-cell": in_the_graded_cell,
    "crlf-and-tabs": crlf_and_tabs,
}


@pytest.fixture(scope="module")
def batch(shared_course: Course) -> tuple[Course, Done]:
    """All of them at once, and a notebook of 101 MB that takes no room on the disk."""
    for name, change in (POINTLESS | HONEST).items():
        shared_course.put(name, change)
    with shared_course.put("huge", b"").open("wb") as file:
        file.write(b'{"cells": [')
        file.truncate(101 << 20)
    shared_course.put("zz-last", filled(RIGHT))
    link = shared_course.put("link", b"")
    link.unlink()
    link.symlink_to(shared_course.folder / "submitted" / "zz-last" / ASSIGNMENT / link.name)
    return shared_course, shared_course.run("autograde", ASSIGNMENT)


def test_the_batch_goes_on(batch: tuple[Course, Done]) -> None:
    course, done = batch
    assert done.status == 0, done.said
    assert "Traceback" not in done.said
    assert len(course.scores()) == len(POINTLESS) + len(HONEST) + 3


@pytest.mark.parametrize("name", [*POINTLESS, "huge", "link"])
def test_none_gains_a_point(batch: tuple[Course, Done], name: str) -> None:
    """And what nobody could read is left to people: it might be right."""
    course, _ = batch
    unread = name in UNREADABLE
    assert course.scores()[name] == ("needs grading" if unread else 0)
    assert (course.grade(name)["needs_manual_grade"], course.grade(name)["auto_score"]) == (
        unread,
        None if unread else 0,
    )
    assert ("✗" in course.report(name), "So it is graded by hand." in course.report(name)) == (not unread, unread)


@pytest.mark.parametrize("name", [*HONEST, "zz-last"])
def test_a_kernel_that_can_be_found_is_graded(batch: tuple[Course, Done], name: str) -> None:
    course, _ = batch
    assert course.scores()[name] == 100, course.report(name)


def test_the_instructor_is_told_what_was_changed(batch: tuple[Course, Done]) -> None:
    course, done = batch
    assert "Not in the cell for it, but in cell 1." in course.report("moved-and-renamed")
    for name in ("draft-left-over", "copied-differently", "below-the-stub"):
        cells = course.autograded(name)
        (answer,) = (n for n, cell in enumerate(cells) if cell["metadata"].get("nbgrader", {}).get("solution"))
        assert "".join(cells[answer]["source"]) == RIGHT
        assert f"; that in cell {answer + 1} is the best, and counts." in course.report(name)
    assert "101 MB" in course.report("huge")
    assert "is not UTF-8 text" in course.report("not-utf-8") and str(course.folder) not in course.report("not-utf-8")
    assert "submitted/huge" in done.said


def test_nothing_of_a_notebook_is_more_than_text(batch: tuple[Course, Done]) -> None:
    course, _ = batch
    assert course.run("generate_feedback", ASSIGNMENT, "--student=script").status == 0
    page = (course.folder / "feedback" / "script" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
    assert "alert(1)" in page  # it is shown
    assert SCRIPT not in page and "\x1b" not in page and "javascript:alert" not in page.replace("](javascript", "")
    assert "svg+xml;base64,PHN2" not in page


def test_what_was_handed_in_stays_as_it_was(batch: tuple[Course, Done]) -> None:
    course, _ = batch
    assert Path(course.folder / "submitted" / "empty" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes() == b""
