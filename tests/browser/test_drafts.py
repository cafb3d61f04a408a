"""Text in a page's editor is saved to a file or a notebook, and comes back from there."""

from __future__ import annotations

import json

import pytest

from checker.browser.drafts import draft_in, file_of
from checker.browser.words import on_page
from checker.course import places
from checker.submission.read import Unreadable, from_file
from tests.conftest import SOLUTION, STEMS_OF_KERNELS

DRAFT = "@triton.jit\n" + SOLUTION.partition("@triton.jit\n")[2]
HELPER = "@triton.jit\ndef twice(x):\n    return x + x"


@pytest.mark.parametrize("kind", ["py", "ipynb"])
@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_what_is_taken_along_comes_back(puzzle_id: str, kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = places.solution(puzzle_id).read_text()
    draft = "# mine\n" + text[text.index("@triton.jit") :]
    name, written = file_of(puzzle_id, draft, kind)
    assert name == f"{STEMS_OF_KERNELS[puzzle_id]}.{kind}"
    assert draft_in(puzzle_id, name, written) == draft
    path = tmp_path_factory.mktemp("taken") / name
    path.write_text(written)
    assert draft.strip() in from_file(path).text  # as `make check FILE=…` reads it


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_plain_file_comes_whole(end: str) -> None:
    assert draft_in("p1", "mine.py", "\ufeff" + SOLUTION.replace("\n", end)) == SOLUTION.strip("\n") + "\n"


def test_a_helper_in_a_cell_of_its_own_comes_along() -> None:
    _, text = file_of("w1", "…", "ipynb")
    notebook = json.loads(text)
    cells = [{"cell_type": "code", "source": HELPER}, {"cell_type": "code", "source": DRAFT}]
    assert draft_in("p1", "mine.ipynb", json.dumps({**notebook, "cells": cells})) == f"{HELPER}\n\n\n{DRAFT}"
    # What the lesson itself shows does not: w1 has a kernel of its own.
    _, text = file_of("w1", "@triton.jit\ndef vector_add_kernel(", "py")
    assert "double_kernel" in text and "double_kernel" not in draft_in("w1", "mine.py", text)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p2.py", places.solution("p2").read_text(), "does not define naive_softmax_kernel"),
        ("empty.py", "", "does not define"),
        ("broken.ipynb", "{", "is not a whole notebook"),
        ("text.ipynb", "x = 1", "holds no JSON"),
        ("flash-puzzles.json", json.dumps({"drafts": {"p1": SOLUTION}, "progress": {}}), "Choose Bring back all"),
    ],
)
def test_another_file_is_refused_in_a_sentence(name: str, text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        draft_in("p1", name, text)


def test_sentences_name_buttons() -> None:
    said = {
        "`make trace PUZZLE=a3` draws when": "Trace draws when",
        "fill it in; `make reset PUZZLE=…` brings": "fill it in; Reset brings",
        "  make check PUZZLE=p1 says more": "  Check says more",
        "not accepted. First: ./check p6": "not accepted. First: Check",
        "what products make; `make bench PUZZLE=p6`": "what products make; `make bench PUZZLE=p6`",
    }
    assert {text: on_page(text) for text in said} == said
