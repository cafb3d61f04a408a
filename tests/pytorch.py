"""Programs of PyTorch for tests of the road: a right one, and the attacks of `tests/hostile/pytorch.toml`.

An attack is the right program with text `before` the function, and with text `inside` it, as its first lines. `refused`
is what the lint must say of it; with the lint off, the sandbox has to hold it.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from checker.course.kernel import Kernel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORWARD = Kernel("flash_attention_forward", ("q", "k", "v", "scale", "causal", "Br", "Bc"), pytorch=True)
HEAD = f"import torch\n\n\ndef {FORWARD.name}({FORWARD.signature}):\n"
BODY = """\
    n_q, n_k = q.shape[2], k.shape[2]
    o = torch.zeros_like(q)
    lse = torch.full(q.shape[:-1], -float("inf"), dtype=q.dtype)
    for start in range(0, n_q, Br):
        rows = torch.arange(start, min(start + Br, n_q)) + n_k - n_q
        visible = min(n_k, n_k - n_q + start + len(rows)) if causal else n_k
        m = torch.full_like(lse[..., start : start + Br], -float("inf")).unsqueeze(-1)
        l = torch.zeros_like(m)
        acc = torch.zeros_like(o[..., start : start + Br, :])
        for left in range(0, visible, Bc):
            s = q[..., start : start + Br, :] @ k[..., left : left + Bc, :].mT * scale
            if causal:
                columns = torch.arange(left, min(left + Bc, n_k))
                s = s.masked_fill(columns[None, :] > rows[:, None], -float("inf"))
            new = torch.maximum(m, s.amax(dim=-1, keepdim=True))
            safe = torch.where(torch.isneginf(new), 0.0, new)
            p = torch.exp(s - safe)
            factor = torch.exp(m - safe)
            l = factor * l + p.sum(dim=-1, keepdim=True)
            acc = factor * acc + p @ v[..., left : left + Bc, :]
            m = new
        o[..., start : start + Br, :] = torch.where(l > 0, acc / l, 0.0)
        lse[..., start : start + Br] = (m + torch.log(l)).squeeze(-1)
    return o, lse
"""
PROGRAM = HEAD + BODY


@dataclass(frozen=True)
class Attack:
    """A hostile program, and the finding that it must get from the lint."""

    name: str
    says: str
    refused: str
    text: str


def with_text(inside: str, before: str = "") -> str:
    """The right program with text at the top of its function, and before it."""
    head = HEAD.replace("\n\n\ndef", f"\n\n{before}\n\ndef")
    return head + textwrap.indent(inside.rstrip("\n") + "\n", "    ") + BODY


def attacks() -> list[Attack]:
    """All of them, by name."""
    entries = tomllib.loads((Path(__file__).parent / "hostile" / "pytorch.toml").read_text(encoding="utf-8"))
    return [
        Attack(name, entry["says"], entry["refused"], with_text(entry.get("inside", "pass"), entry.get("before", "")))
        for name, entry in sorted(entries.items())
    ]
