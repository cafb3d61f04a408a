"""Files as the public writes them: what they get, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.own.test_files import PLAIN, RIGHT, TWICE, judged


@dataclass(frozen=True)
class File:
    """A file, and what it gets."""

    text: str
    options: tuple[str, ...] = ()
    finding: str = ""  # the first one; empty: it is accepted
    says: str = ""  # in the report


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
# A softmax that needs the columns to fit into two blocks of 16,384, and is right unless the first one is all -inf.
IN_BLOCKS = """
import torch, triton, triton.language as tl

@triton.jit
def in_blocks(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m, l = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < n, other=-float("inf"))
        m_new = tl.maximum(m, tl.max(x, 0))
        shift = GUARD
        l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), 0)
        m = m_new
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < n, other=-float("inf"))
        tl.store(y_ptr + row * n + at, tl.exp(x - m) / l, mask=at < n)

def softmax(x):
    rows, n = x.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    in_blocks[(rows,)](x, y, x.stride(0), n, BLOCK=min(triton.next_power_of_2(n), 16384))
    return y
"""
# A program for each query, which has no mask because each of them exists.
OF_A_ROW = """
import torch, triton, triton.language as tl

@triton.jit
def of_a_row(q, k, v, o, n_k, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, D)
    m, l, acc = -float("inf"), 0.0, tl.zeros((D,), tl.float32)
    for start in range(0, n_k, BLOCK):
        at = start + tl.arange(0, BLOCK)
        of, mask = at[:, None] * D + d[None, :], at[:, None] < n_k
        s = scale * tl.sum(tl.load(q + row * D + d)[None, :] * tl.load(k + of, mask=mask, other=0.0), 1)
        s = tl.where(at < n_k, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 0))
        p, alpha = tl.exp(s - m_new), tl.exp(m - m_new)
        l, m = l * alpha + tl.sum(p, 0), m_new
        acc = acc * alpha + tl.sum(p[:, None] * tl.load(v + of, mask=mask, other=0.0), 0)
    tl.store(o + row * D + d, acc / l)

def attention(q, k, v, scale):
    o = torch.empty_like(q)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            of_a_row[(q.shape[2],)](q[b, h], k[b, h], v[b, h], o[b, h], k.shape[2], scale, D=q.shape[3], BLOCK=32)
    return o
"""
PERSISTENT = """
from triton.runtime import driver

properties = driver.active.utils.get_device_properties(torch.cuda.current_device())
NUM_SM, SIZE_SMEM = properties["multiprocessor_count"], properties["max_shared_mem"]

@torch.jit.script
def plain(x):
    return torch.softmax(x, 1)

@triton.jit"""
WARMED = """
    BLOCK = min(triton.next_power_of_2(n), 16384)
    kernel = in_blocks.warmup(x, y, x.stride(0), n, BLOCK=BLOCK, num_warps=8, grid=(1,))
    kernel._init_handles()
    assert min(65536 // kernel.n_regs, SIZE_SMEM // kernel.metadata.shared) > 0
    kernel[(rows, 1, 1)](x, y, x.stride(0), n)
"""
MEASURED = """
import matplotlib.pyplot as plt
import tabulate

@triton.testing.perf_report(triton.testing.Benchmark(x_names=["n"], x_vals=[1], plot_name="softmax", args={}))
def benchmark(n):
    return triton.testing.do_bench(lambda: softmax(torch.ones(n, n, device="cuda")))

benchmark.run(print_data=True, save_path=".")
"""
SAFE = IN_BLOCKS.replace("GUARD", 'tl.where(m_new == -float("inf"), 0.0, m_new)')
ONE_ROW = "--types", "fp32", "--dense", "--no-compile"
# The backward pass of a class is its own; `forward` has a parameter of the launch behind all others.
CLASS = """
import torch

class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, is_causal=False, tile=16):
        s = q.float() @ k.float().transpose(-1, -2) / q.shape[-1] ** 0.5
        if is_causal:
            s = s.masked_fill(torch.ones_like(s).triu(1 + s.shape[-1] - s.shape[-2]).bool(), float("-inf"))
        p = torch.softmax(s, -1).nan_to_num()
        ctx.save_for_backward(q, k, v, p)
        return (p @ v.float()).to(q.dtype)

    @staticmethod
    def backward(ctx, do):
        q, k, v, p = (one.float() for one in ctx.saved_tensors)
        dp = do.float() @ v.transpose(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        made = ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ do.float()
        return *(one.to(do.dtype) for one in made), None
"""
FORWARD, BACKWARD = CLASS.split("    @staticmethod\n    def backward(ctx, do):\n")
SMALL = "--whole-tiles", "--square", "--dense", "--types", "fp32", "--head-dim", "16", "--no-compile"
NOWHERE = "y = softmax(torch.ones(2, 2, dtype=torch.int8))\nassert torch.equal(y, y)\n"
STAGES = RIGHT["tutorial_stages"]
HEAD = STAGES[STAGES.index("@triton.jit\ndef _attn_bwd(") : STAGES.index("    # dK and dV of")]
LAUNCH = STAGES[STAGES.index("        _attn_bwd[(") : STAGES.index("        return dq, dk, dv")]
APART = STAGES.replace("    # dQ of", "\n\n" + HEAD.replace("_attn_bwd(", "_attn_bwd_dq(") + "    # dQ of").replace(
    LAUNCH, LAUNCH.replace("_attn_bwd[", "_attn_bwd_dq[") + LAUNCH
)
GQA = RIGHT["gqa_forward"]
FILES = {
    "scores masked with -1e6, as CS336 says": File(PLAIN.replace('float("-inf")', "-1e6"), SQUARE),
    "scores masked with -1e5": File(PLAIN.replace('float("-inf")', "-1e5"), SQUARE, "wrong-values"),
    "a mask that is upside down, and nothing else": File(
        PLAIN.replace("triu(1 +", "tril(-1 +"),
        ("--types", "fp32", "--head-dim", "16", "--dense", "--no-compile"),
        "causal-upside-down",
        "✓ any number of queries and keys",
    ),
    "atomic_max and atomic_min of fp32": File(OF_BLOCKS, ("--types", "fp32", "--no-compile")),
    "a pointer to another type": File(
        OF_BLOCKS.replace("atomic_max(most_ptr", "store(most_ptr.to(tl.pointer_type(tl.float16))"),
        ("--types", "fp32", "--no-compile"),
        "outside-a-tensor",
        "most_ptr as float16, which its elements are not",
    ),
    "wrong beyond 64 dimensions": File(
        PLAIN.replace("s = scale", "scale = scale * (q.shape[-1] / min(q.shape[-1], 64)) ** 0.5\n    s = scale"),
        (*SQUARE[1:6], "--no-compile"),
        "wrong-values",
        "d=80",
    ),
    "dimensions that are a power of two": File(
        PLAIN.replace("    s = scale", "    if q.shape[-1] == 80:\n        {16: 1}[q.shape[-1]]\n    s = scale"),
        (*SQUARE[1:6], "--no-compile"),
        says="d=80",
    ),
    "a function for 64 dimensions in fp16": File(
        PLAIN.replace("    s = scale", "    assert q.dtype == torch.float16 and q.shape[-1] == 64\n    s = scale"),
        (*SQUARE[1:4], "--no-compile"),
        says="line 5 refuses: assert q.dtype == torch.float16 and q.shape[-1] == 64",
    ),
    "rows that begin with a block of -inf": File(
        IN_BLOCKS.replace("GUARD", "m_new"), ONE_ROW, "not-a-number", "rows that begin with a block"
    ),
    "the same, guarded": File(SAFE, ONE_ROW),
    "a default behind all that apply gets": File(CLASS, SMALL),
    "a layout that nobody has said": File(
        RIGHT["cs336_block_pointers"].replace("--layout bnd", ""), SMALL, says="in layout bnd"
    ),
    "a backward pass that raises": File(
        f"{FORWARD}    @staticmethod\n    def backward(ctx, do):\n        raise NotImplementedError\n",
        SMALL,
        says="gradients",
    ),
    "a backward pass that passes": File(
        f"{FORWARD}    @staticmethod\n    def backward(ctx, do):\n        pass\n", SMALL, says="gradients"
    ),
    "no backward pass": File(FORWARD, SMALL, says="gradients"),
    "a program for each key, and none for a query": File(
        OF_A_ROW.replace("q.shape[2],)", "k.shape[2],)"),
        ("--types", "fp32", "--head-dim", "16", "--dense", "--no-compile"),
        "past-the-last-tile",
        "have no query. program",
    ),
    "a mask that is longer than the keys": File(
        OF_A_ROW.replace("at[:, None] < n_k", "at[:, None] < 4096"),
        ("--types", "fp32", "--head-dim", "16", "--dense", "--no-compile"),
        "load-without-mask",
    ),
    "tests at the top level": File(SAFE + NOWHERE, ONE_ROW),
    "an assert on strides": File(
        SAFE.replace("    rows, n = x.shape", "    assert x.is_contiguous(), 'dense'\n    rows, n = x.shape"),
        ("--types", "fp32", "--no-compile"),
        says="line 21 refuses: assert x.is_contiguous(), 'dense'",
    ),
    "heads of 80 numbers in tiles of 128": File(
        RIGHT["dao_bnhd"].replace("--layout bnhd --head-dim 16,32,64,128", ""),
        (*SMALL[:1], *SMALL[2:5], "--no-compile"),
        "outside-a-tensor",
        "in layout bnhd",
    ),
    "an assert on everything": File(
        SAFE.replace("    rows, n = x.shape", "    assert x is None\n    rows, n = x.shape"), ONE_ROW, "kernel-error"
    ),
    "a product in half precision": File(
        GQA.replace('tl.dot(q, k, input_precision="ieee")', "tl.dot(q, k, out_dtype=tl.float16).to(tl.float32)"),
        ("--types", "fp16", "--head-dim", "16", "--dense", "--no-compile"),
        says="[dot-in-half]. The results are as near as PyTorch's in half precision.",
    ),
    "an argument that Triton has no longer": File(
        GQA.replace("tl.dot(q, k,", "tl.dot(q, k, trans_b=False,"),
        SMALL,
        "not-in-this-triton",
        "Python says: dot() got",
    ),
    "a kernel that is launched for each row": File(
        TWICE.replace("return y", "return torch.softmax(x.float(), 1).to(x.dtype)"),
        ONE_ROW,
        says="one call forward launches twice 3 times.",
    ),
    "a mask of another kernel than the first": File(
        APART.replace("offs_m[None, :] >= offs_n[:, None]", "offs_m[None, :] <= offs_n[:, None]"),
        ("--no-compile",),
        "causal-upside-down",
        "pT = tl.where(offs_m[None, :] <= offs_n[:, None]",
    ),
    "a length before the sides of tiles": File(
        GQA.replace("HEAD_DIM: tl.constexpr, BM", "SEQ_LEN: tl.constexpr, HEAD_DIM: tl.constexpr, BM")
        .replace("HEAD_DIM=d, BM=BM", "SEQ_LEN=64, HEAD_DIM=d, BM=BM")
        .replace("BM, BN = 32, 32", "BM, BN = 32, 16")
        .replace("acc = acc * alpha[:, None] +", "acc = acc +"),
        SMALL,
        "accumulator-not-rescaled",
    ),
    "what only measures, compiles or asks for the card": File(
        SAFE.replace("@triton.jit", PERSISTENT)
        .replace("def softmax(x):", "@torch.compile\ndef softmax(x):")
        .replace("    in_blocks[(rows,)](x, y, x.stride(0), n, BLOCK=min(triton.next_power_of_2(n), 16384))\n", WARMED)
        + MEASURED,
        ONE_ROW,
    ),
    "definitions inside if and try": File(
        SAFE.replace("@triton.jit", "if torch.cuda.is_available():\n  @triton.jit", 1)
        .replace("\n\ndef softmax", "\n  pass\ntry:\n  import triton\nexcept ImportError:\n  pass\n\ndef softmax")
        .replace("def in_blocks", "  def in_blocks"),
        ONE_ROW[:-1],
    ),
    "two definitions of a kernel": File(
        SAFE.replace("@triton.jit\n", "if False:\n  @triton.jit\n  def in_blocks(x): pass\n\n@triton.jit\n"), ONE_ROW
    ),
    "another file of its folder": File("from beside import GAP\n" + SAFE.replace("0.0, m_new", "GAP, m_new"), ONE_ROW),
    "names of what is not meant": File(
        SAFE.replace("def softmax", "def row_softmax")
        + "\ndef softmax_reference(x):\n    return row_softmax(x)\n"
        + "\ndef test_softmax():\n    row_softmax(None)\n"
        + "\ndef online_softmax(x):\n    return torch.softmax(x, 1)\n",
        ONE_ROW,
        says="row_softmax, softmax",
    ),
    "all but the first configuration": File(
        SAFE.replace(
            "@triton.jit",
            "@triton.autotune([triton.Config({'BLOCK': 128 << n}) for n in range(8)], key=['n'])\n@triton.jit",
        ).replace("n, BLOCK=min(triton.next_power_of_2(n), 16384))", "n)"),
        ONE_ROW,
        says="configurations 2 to 8 of in_blocks",
    ),
    "heads mixed where lengths must be the same": File(
        GQA.replace("    b, h, len_q, d = q.shape", "    assert q.shape == k.shape\n    b, h, len_q, d = q.shape")
        .replace("batch * v_sb + kv_head * v_sh", "batch * v_sb + (kv_head // 2) * v_sh")
        .replace("--kv-heads", ""),
        ("--types", "fp32", "--head-dim", "16", "--dense", "--no-compile"),
        "only-one-head",
        "more keys than queries, or fewer",
    ),
    "a backward pass of one layout": File(CLASS.replace("ds @ k", "torch.bmm(ds, k)"), SMALL, says="in layout bnd"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_public_file(name: str, tmp_path: Path) -> None:
    file = FILES[name]
    (tmp_path / "beside.py").write_text("import triton.language as tl\nGAP = tl.constexpr(0.0)\n", encoding="utf-8")
    found = judged(tmp_path, file.text, *file.options)
    report, ids = " ".join(found["report"].split()), [one["id"] for one in found["findings"]]
    assert ids[:1] == ([file.finding] if file.finding else []), found["report"]
    assert file.says in report, found["report"]
