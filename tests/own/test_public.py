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

# The largest number of a row and the smallest of its negative ones, over blocks of several programs.
OF_BLOCKS = """
import torch, triton, triton.language as tl

@triton.jit
def extremes(x_ptr, most_ptr, least_ptr, stride, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=-float("inf"))
    tl.atomic_max(most_ptr + row, tl.max(x, 0))
    tl.atomic_min(least_ptr + row, tl.min(-x, 0))

def softmax(x):
    rows, n = x.shape
    most = torch.full((rows,), -float("inf"), device=x.device)
    least = torch.full((rows,), float("inf"), device=x.device)
    extremes[(rows, triton.cdiv(n, 128))](x, most, least, x.stride(0), n, BLOCK=128)
    e = torch.exp(x - (most[:, None] - least[:, None]) / 2)
    return e / e.sum(1, keepdim=True)
"""
FILES = {
    "scores masked with -1e6, as CS336 says": File(PLAIN.replace('float("-inf")', "-1e6"), SQUARE),
    "scores masked with -1e5": File(PLAIN.replace('float("-inf")', "-1e5"), SQUARE, "wrong-values"),
    "atomic_max and atomic_min of fp32": File(OF_BLOCKS, ("--types", "fp32", "--no-compile")),
    "a pointer to another type": File(
        OF_BLOCKS.replace("(most_ptr + row,", "(most_ptr.to(tl.pointer_type(tl.float16)) + row,").replace("atomic_max", "store"),
        ("--types", "fp32", "--no-compile"),
        "outside-a-tensor",
        "most_ptr as float16, which its elements are not",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_public_file(name: str, tmp_path: Path) -> None:
    file = FILES[name]
    found = judged(tmp_path, file.text, *file.options)
    report, ids = " ".join(found["report"].split()), [one["id"] for one in found["findings"]]
    assert ids[:1] == ([file.finding] if file.finding else []), found["report"]
    assert file.says in report and not (file.never and file.never in report), found["report"]
