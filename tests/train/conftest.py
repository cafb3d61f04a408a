"""A learner's course in which puzzles 6, 7 and the capstone are solved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checker.course.ladder import stems
from tests.conftest import ROOT

IMPORTS = """\
from checker.train.kernels import delta_kernel, dk_dv_kernel, dq_kernel, flash_attention_2_kernel
import torch
import triton
from torch import nn
"""
GIVEN = """

class Attention(torch.autograd.Function):
    forward = staticmethod(attention_forward)
    backward = staticmethod(attention_backward)


def own_attention(q, k, v):
    return Attention.apply(q, k, v, q.shape[-1] ** -0.5)


class Block(nn.Module):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(b, n, w))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, characters, context, width, heads, layers, attention):
        super().__init__()
        self.token, self.position = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, attention) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))
"""
CAPSTONE = "c1_tiny_gpt"


def solved() -> str:
    """The capstone's file as it is when it is solved."""
    solution = (ROOT / "solutions" / f"{CAPSTONE}.py").read_text()
    _, _, functions = solution.partition("flash_attention_2_kernel\n")
    return IMPORTS + functions + GIVEN


def course_in(folder: Path) -> Path:
    """Make such a course; the checker is ours."""
    (folder / "checker").symlink_to(ROOT / "checker")
    shutil.copytree(ROOT / "puzzles", folder / "puzzles")
    for puzzle_id in ("p6", "p7"):
        shutil.copy(ROOT / "solutions" / f"{stems()[puzzle_id]}.py", folder / "puzzles")
    (folder / "puzzles" / f"{CAPSTONE}.py").write_text(solved())
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return course_in(tmp_path_factory.mktemp("course"))


@pytest.fixture
def own_course(tmp_path: Path) -> Path:
    """One that this test may change."""
    return course_in(tmp_path)
