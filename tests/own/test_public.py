"""Files as the public writes them: what they get, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.own.test_files import PLAIN, judged


@dataclass(frozen=True)
class File:
    """A file, and what it gets."""

    text: str
    options: tuple[str, ...] = ()
    finding: str = ""  # the first one; empty: it is accepted
    says: str = ""  # in the report
    never: str = ""  # in the report


SQUARE = "--causal", "--whole-tiles", "--square", "--dense", "--types", "fp32", "--head-dim", "16", "--no-compile"
FILES = {
    "scores masked with -1e6, as CS336 says": File(PLAIN.replace('float("-inf")', "-1e6"), SQUARE),
    "scores masked with -1e5": File(PLAIN.replace('float("-inf")', "-1e5"), SQUARE, "wrong-values"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_public_file(name: str, tmp_path: Path) -> None:
    file = FILES[name]
    found = judged(tmp_path, file.text, *file.options)
    report, ids = " ".join(found["report"].split()), [one["id"] for one in found["findings"]]
    assert ids[:1] == ([file.finding] if file.finding else []), found["report"]
    assert file.says in report and not (file.never and file.never in report), found["report"]
