"""Random launches for the oracle: of any size, layout and kind of values that a puzzle promises. None is the judge's.

A launch of the usual kind has a few tiles; some are of real size (rows of up to 20,000 columns, a thousand keys or
queries and more), some have rows or heads so far apart that their offsets need 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from checker.course.case import Array, Case, Role, Tensor, blank
from checker.course.kernel import Kernel
from checker.course.puzzle import Puzzle
from checker.sandbox.protocol import philox

Random = np.random.Generator
LARGE_EVERY, FAR_EVERY = 12, 15


def launches(puzzle: Puzzle, kernel: Kernel, count: int, seed: int) -> list[Case]:
    """So many launches of one kernel; of a puzzle that has no family here, its own cases with other keys."""
    made: list[Case] = []
    if puzzle.id not in FAMILIES:
        for key in range(seed, seed + count):
            made += [case for case in puzzle.cases(puzzle.draw(str(key))) if case.kernel == kernel.name]
            if len(made) >= count:
                return made[:count]
    for number in range(count):
        random = np.random.default_rng(
            [seed, list(FAMILIES).index(puzzle.id) + 1, puzzle.kernels.index(kernel), number]
        )
        kind = "large" if number % LARGE_EVERY == 5 else "far" if number % FAR_EVERY == 7 else "usual"
        made.append(FAMILIES[puzzle.id](puzzle.id, kernel, random, kind, number // LARGE_EVERY))
    return made


def _length(random: Random, block: int, most: int) -> int:
    """Up to `most` blocks, and what is left over: nothing, one, one or two short of a block, or anything."""
    rest = int(random.choice([0, 1, 2, block - 2, block - 1, random.integers(block)]))
    return max(1, int(random.integers(most + 1)) * block + rest)


def _stride(random: Random, least: int, kind: str) -> int:
    """A distance that is no smaller, and beyond 2**30, odd and below 2**31 for what lies far apart."""
    if kind == "far":
        return int(random.integers(2**30, 2**31 - 2**20)) | 1
    return least + int(random.choice([0, 1, random.integers(64)]))


def _case(
    kernel: Kernel,
    name: str,
    grid: tuple[int, ...],
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, int | float],
    kind: str,
) -> Case:
    """The launch as far as the kernel has parameters for it; `name` says nothing that `numbers` do not."""
    given = {parameter: numbers[parameter] for parameter in kernel.parameters if parameter in numbers}
    sizes = ", ".join(
        f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}" for key, value in given.items()
    )
    return Case(
        title=f"{name}, grid {grid}, {sizes}",
        kernel=kernel.name,
        proves=(),
        grid=grid,
        tensors={p: tensors[p] for p in kernel.parameters if p in tensors},
        scalars={key: value for key, value in given.items() if key not in kernel.constexprs},
        constexprs={key: value for key, value in given.items() if key in kernel.constexprs},
        checked_arithmetic=kind == "far",
    )


def _softmax(puzzle_id: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Rows of every kind, of which a softmax without the maximum gets what it can do."""
    block = int(random.choice([16, 32, 64, 128]))
    high = int(random.choice([1, 2, 4, 8])) if puzzle_id == "p4" else 1
    count, n = int(random.integers(1, 6)), _length(random, block, 4)
    if kind == "large" and turn % 2:
        high = 16 if puzzle_id == "p4" else 1
        count, n = (
            int(random.integers(1001, 1100) if puzzle_id == "p4" else random.integers(60, 140)),
            int(random.integers(1, 40)),
        )
    elif kind == "large":
        block, count, n = 1024, 2, int(random.integers(3000, 20_000))
    elif kind == "far":
        count, n = 6, _length(random, block, 1)
    if puzzle_id == "p4":
        count = max(count, _length(random, high, 2))
    if puzzle_id == "p1":
        block = 1 << (n - 1).bit_length()
    dtype = np.float16 if random.integers(3) == 0 else np.float32
    x = np.stack([_row(random, n, puzzle_id, block, dtype, kind) for _ in range(count)]).astype(dtype)
    strides = [_stride(random, n, kind) for _ in range(2)]
    tensors = {
        "x_ptr": Tensor(x, (strides[0], 1)),
        "y_ptr": Tensor(blank(x.shape, dtype, np.nan), (strides[1], 1), Role.OUTPUT),
    }
    numbers = {"x_row_stride": strides[0], "y_row_stride": strides[1], "n_rows": count, "n_cols": n}
    blocks = {"BLOCK_SIZE": block, "BLOCK_ROWS": high, "BLOCK_COLS": block}
    return _case(kernel, f"{kind}, {np.dtype(dtype).name}", (-(-count // high),), tensors, numbers | blocks, kind)


def _row_sum(_: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Rows as of p1, without -inf, and a number for each in fp32."""
    case = _softmax("p1", kernel, random, kind, turn)
    x = case.tensors["x_ptr"]
    finite = np.where(np.isinf(x.values), 0, x.values).astype(x.values.dtype)
    out = Tensor.output((len(finite),), np.float32, (1,))
    return replace(case, tensors={"x_ptr": replace(x, values=finite), "out_ptr": out})


def _transpose(_: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Tiles as of p4, with a program for each, and y as wide as x is high."""
    case = _softmax("p4", kernel, random, kind, turn)
    x = case.tensors["x_ptr"]
    count, n = x.values.shape
    stride = _stride(random, count, kind)
    return replace(
        case,
        title=f"{case.title}, y {stride}",
        grid=(*case.grid, -(-n // int(case.constexprs["BLOCK_COLS"]))),
        tensors={"x_ptr": x, "y_ptr": Tensor.output((n, count), x.values.dtype, (stride, 1))},
        scalars={**case.scalars, "y_row_stride": stride},
    )


def _row(random: Random, n: int, puzzle_id: str, block: int, dtype: type, kind: str) -> Array:
    at = int(random.choice([0, n - 1, n - 1, random.integers(n), random.integers(n // 2, n)]))
    row = random.normal(0.0, float(random.choice([1.0, 4.0])), n)
    mild = puzzle_id == "p1"
    far = 40.0 if mild else 300.0 if dtype is np.float16 else 2e4
    match random.choice([1, 1, 2, 3, 7]) if kind == "large" else random.integers(9):  # most of a long row is all alike
        case 0:
            row += far * random.choice([-1, 1])
        case 1:
            row[at] = 60.0 if mild else 150.0
        case 2:
            row = np.linspace(-12, 12, n) * random.choice([-1, 1])
        case 3:
            row[:] = float(random.integers(1, 9))
        case 4 if n > 1:
            row[at] = -np.inf
        case 5 if puzzle_id in ("p3", "p4") and n > 1:  # p1 and p2 promise no first block without a finite one
            row[: min(n - 1, int(random.choice([1, 2])) * block)] = -np.inf
        case 6:
            row -= 12.0
    return row.clip(-78.0, 80.0) if mild and np.isfinite(row).all() else row


def _attention(puzzle_id: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Heads of every size; for the backward pass with O, LSE and delta as they should be."""
    br, bc, d = (int(random.choice([16, 32, 64], p=[0.5, 0.35, 0.15])) for _ in range(3))
    heads, n_q, n_k = int(random.integers(1, 4)), _length(random, br, 3), _length(random, bc, 3)
    if random.integers(3) == 0:  # what n_k - n_q leaves over matters as much
        n_k = max(1, n_q + int(random.choice([-1, 0, 1, 2, bc - 1, bc, bc + 1, 1 - bc, br, -br, 2 * br])))
    if kind == "large":
        heads, many, few = 1 + turn % 2, int(random.integers(1050, 1400)), int(random.integers(1, 130))
        n_q, n_k = [(few, many), (many, few), (few, many), (many // 2, many // 2)][turn % 4]
        br, bc = int(random.choice([32, 64])), int(random.choice([32, 64]))
        d = 16 if n_q == n_k else int(random.choice([16, 32, 64]))
    elif kind == "far":
        heads, n_q, n_k, d = 6, _length(random, br, 1), _length(random, bc, 1), 16
    causal = puzzle_id == "p7" or (puzzle_id == "p6" and bool(random.integers(2)))
    dtype = np.float16 if random.integers(3) == 0 else np.float32
    rows = {"q": _stride(random, d, "usual"), "k": _stride(random, d, "usual")}
    apart = {side: _stride(random, rows[side] * n, kind) for side, n in (("q", n_q), ("k", n_k))}
    scale = float(np.float32(random.uniform(0.7, 2.2) / np.sqrt(d)))
    values = _values(random, puzzle_id, (heads, n_q, n_k, d), scale, dtype, causal, kind)
    tensors = {}
    for name, (x, role) in values.items():
        side = "k" if name in ("k", "v", "dk", "dv") else "q"
        tensors[f"{name}_ptr"] = Tensor(x, (apart[side], rows[side], 1) if x.ndim == 3 else (n_q, 1), role)
    if kernel.name == "delta_kernel":
        tensors["delta_ptr"] = Tensor(blank((heads, n_q), np.float32, np.nan), (n_q, 1), Role.OUTPUT)
    strides = {f"{side}_{of}_stride": n[side] for of, n in (("head", apart), ("row", rows)) for side in ("q", "k")}
    numbers = strides | {"n_q": n_q, "n_k": n_k, "scale": scale, "D": d, "Br": br, "Bc": bc, "CAUSAL": causal}
    tiles = -(-n_k // bc) if "dk_ptr" in kernel.parameters else -(-n_q // br)
    grid = (heads,) if puzzle_id == "p5" else (tiles, heads)
    return _case(kernel, f"{kind}, {np.dtype(dtype).name}", grid, tensors, numbers, kind)


def _biased(_: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Launches as of p6 with a bias of any strides; for its gradient with LSE and delta as they should be."""
    gradient = "dbias_ptr" in kernel.parameters
    case = _attention("a3" if gradient else "p6", kernel, random, kind, turn)
    q, k, v = (case.tensors[f"{name}_ptr"].values for name in "qkv")
    (heads, n_q, _), n_k = q.shape, k.shape[1]
    own = (False, True, True) if gradient else tuple(bool(one) for one in random.integers(2, size=3))
    extents = [n if one else 1 for n, one in zip((heads, n_q, n_k), own, strict=True)]
    inside, strides = int(random.choice([1, 1, 3])), [0, 0, 0]
    for axis in ((2, 1), (1, 2))[int(random.integers(2))]:
        if own[axis]:
            strides[axis], inside = inside, _stride(random, inside * extents[axis], "usual")
    strides[0] = _stride(random, inside, kind) if own[0] else 0
    bias = random.normal(0.0, float(random.choice([2.0, 2.0, 300.0])), extents).astype(q.dtype)
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    placed = Tensor(bias, tuple(stride or span + 1 for stride in strides))
    numbers = dict(zip(("bias_head_stride", "bias_row_stride", "bias_col_stride"), strides, strict=True))
    numbers |= {"heads": heads}
    tensors, grid = {"bias_ptr": placed}, case.grid
    if gradient:
        do = random.normal(0.0, 1.0, q.shape).astype(q.dtype)
        s = float(case.scalars["scale"]) * (q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2)) + bias
        lse = np.logaddexp.reduce(s, axis=-1)
        delta = (np.exp(s - lse[..., None]) @ v.astype(np.float64) * do).sum(axis=-1)
        rows = {"lse_ptr": lse.astype(np.float32), "delta_ptr": delta.astype(np.float32)}
        tensors = {
            "bias_ptr": Tensor(bias[0], placed.strides[1:]),
            "do_ptr": Tensor(do, case.tensors["q_ptr"].strides),
            **{name: Tensor(x, (n_q, 1)) for name, x in rows.items()},
            "dbias_ptr": Tensor(blank((n_q, n_k), np.float32, np.nan), (n_k, 1), Role.OUTPUT),
        }
        grid = case.grid[0], -(-n_k // int(case.constexprs["Bc"]))
    tensors = {p: {**case.tensors, **tensors}[p] for p in kernel.parameters if p in {**case.tensors, **tensors}}
    scalars = {p: {**case.scalars, **numbers}[p] for p in kernel.parameters if p in {**case.scalars, **numbers}}
    return replace(case, title=f"{case.title}, bias {strides}", grid=grid, tensors=tensors, scalars=scalars)


def _dropout(_: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Attention without a mask; p and seed of any size; for the backward pass with delta as it should be."""
    case = _attention("a3" if "o_ptr" in kernel.parameters else "b2", kernel, random, kind, turn)
    p = float(np.float32(random.choice([0.0, 0.1, 0.5, 0.9, random.uniform(0, 0.95)])))
    seed = int(random.integers(2 ** int(random.choice([4, 31, 32, 40, 63]))))
    title = f"{case.title}, p={p:.6g}, seed={seed}"
    case = replace(case, scalars={**case.scalars, "p": p, "seed": seed}, title=title)
    if "delta_ptr" not in case.tensors:
        return case
    do_ptr = case.tensors["do_ptr"]
    if do_ptr.values.dtype == np.float16:  # gradients fit fp16 just so, and Z is up to 1 / (1 - p)
        do_ptr = replace(do_ptr, values=(do_ptr.values * (1 - p) / 8).astype(np.float16))
    case = replace(case, tensors={**case.tensors, "do_ptr": do_ptr})
    q, k, v, do = (case.tensors[f"{name}_ptr"].values.astype(np.float64) for name in ("q", "k", "v", "do"))
    heads, n_q, n_k = len(q), q.shape[1], k.shape[1]
    s = float(case.scalars["scale"]) * (q @ k.swapaxes(1, 2))
    weights = np.exp(s - s.max(axis=-1, keepdims=True))
    drawn = philox.rand(seed, np.arange(heads * n_q * n_k).reshape(heads, n_q, n_k))
    o = (weights / weights.sum(axis=-1, keepdims=True) * (drawn >= np.float32(p)) / (1 - p)) @ v
    delta = replace(case.tensors["delta_ptr"], values=(o * do).sum(axis=-1).astype(np.float32))
    return replace(case, tensors={**case.tensors, "delta_ptr": delta})


def _values(
    random: Random, puzzle_id: str, sizes: tuple[int, ...], scale: float, dtype: type, causal: bool, kind: str
) -> dict[str, tuple[Array, Role]]:
    """All tensors of the three puzzles, with what a kernel may do with them; scores may be far from 0, V large."""
    heads, n_q, n_k, d = sizes
    q, k, v, do = (random.normal(0.0, 1.0, (heads, n, d)) for n in (n_q, n_k, n_k, n_q))
    overflowing = puzzle_id == "p7" and dtype is np.float16 and bool(random.integers(2))
    match random.choice([0, 0, 3, 4, 5, 6]) if kind == "large" else random.integers(7):
        case 0:  # a key that each query likes best
            k[:, int(random.choice([n_k - 1, random.integers(n_k)])), 0], q[..., 0] = 12.0, 12.0 / scale
        case 1:  # scores around a number that exp cannot do
            k[..., 0], q[..., 0] = 1.0, random.choice([-200.0, 200.0]) / scale
        case 2:
            q *= 3.0
        case 3:
            v *= 1e-3
            do *= 1e-2
        case 4:  # sums that fp16 cannot hold, though their average is no problem
            q *= 0.05
            v[..., -1] += 5000.0
        case 5 if not overflowing:
            do[..., 0] += 300.0
            v[..., 0] += 300.0
    if overflowing:
        q[..., -1] = k[..., -1] = v[..., -1] = 0.0
        v *= 4.0
    q, k, v, do = (x.astype(dtype) for x in (q, k, v, do))
    s = scale * (q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2))
    if causal:
        s = np.where(np.arange(n_k)[None, :] <= np.arange(n_q)[:, None] + n_k - n_q, s, -np.inf)
    m = s.max(axis=-1)
    p = np.exp(s - np.where(np.isinf(m), 0.0, m)[..., None])
    l = p.sum(axis=-1)
    o = (p @ v.astype(np.float64) / np.where(l == 0, 1.0, l)[..., None]).astype(dtype)
    with np.errstate(divide="ignore"):
        lse = (m + np.log(l)).astype(np.float32)
    if overflowing:
        _pass_what_fp16_can_hold(q, k, v, do, scale, p / np.where(l == 0, 1.0, l)[..., None])
    delta = (o.astype(np.float64) * do.astype(np.float64)).sum(axis=-1).astype(np.float32)

    def empty(x: Array) -> Array:
        return blank(x.shape, x.dtype, np.nan)

    made = {"q": q, "k": k, "v": v, "do": do, "lse": lse, "delta": delta, "o": o}
    given = {name: (x, Role.INPUT) for name, x in made.items()}
    if puzzle_id == "p5":
        state = {"o": np.zeros(q.shape, np.float32), "l": np.zeros(l.shape, np.float32)}
        state["m"] = state["l"] - np.float32(np.inf)
        return given | {name: (x, Role.STATE) for name, x in state.items()}
    outputs = {"o": q, "lse": lse} if puzzle_id in ("a3", "p6") else {"dq": q, "dk": k, "dv": v}
    return given | {name: (empty(x), Role.OUTPUT) for name, x in outputs.items()}


def _pass_what_fp16_can_hold(q: Array, k: Array, v: Array, do: Array, scale: float, p: Array) -> None:
    """Sums of more than 65504 in the last dimension, which adds nothing to scores and to dP, though gradients fit.

    In Q or in K, because each would meet the other; rows of dS sum to 0, and dK is scaled down.
    """
    n_q = q.shape[1]
    sign = np.where(np.arange(n_q) < n_q // 2, 1.0, -0.8)
    do[..., -1] = (sign * min(30_000.0, 50_000.0 / np.abs(sign @ p).max())).astype(do.dtype)
    if n_q % 2:
        k[..., -1] = 30_000.0
        return
    dp = do.astype(np.float64) @ v.astype(np.float64).swapaxes(1, 2)
    ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    q[..., -1] = min(60_000.0, 50_000.0 / (scale * np.abs(ds.sum(axis=1)).max() + 1e-3))


def _vectors(puzzle_id: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Vectors of any length and numbers of any size; none is so long that its offsets need 64 bits."""
    block = 1024 if kind == "large" else int(random.choice([1, 2, 4, 16, 64, 256]))
    n = _length(random, block, 4) if kind == "usual" else int(random.integers(3000, 20_000))
    dtype = np.float16 if random.integers(3) == 0 else np.float32
    x, y = random.normal(0.0, float(random.choice([1.0, 1000.0])), (2, n)).astype(dtype)
    tensors = {
        "x_ptr": Tensor(x, (1,)),
        "y_ptr": Tensor(y, (1,)),
        "z_ptr": Tensor(blank(x.shape, dtype, np.nan), (1,), Role.OUTPUT),
    }
    numbers = {"n": n, "BLOCK_SIZE": block}
    return _case(kernel, f"{kind}, {np.dtype(dtype).name}", (-(-n // block),), tensors, numbers, kind)


def _product(puzzle_id: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Matrices of any size; in some, one row is far larger than the others, or sums pass what fp16 can hold."""
    Bm, Bn, Bk = (int(random.choice([16, 32, 64], p=[0.5, 0.35, 0.15])) for _ in range(3))
    m, n, k = _length(random, Bm, 3), _length(random, Bn, 3), _length(random, Bk, 4)
    if kind == "large":
        m, n, k = [(few := int(random.integers(1, 60)), few, 2500), (700, few, 40), (few, 700, 40)][turn % 3]
    elif kind == "far":
        m, n = _length(random, 16, 1), _length(random, 16, 1)
    dtype = np.float16 if random.integers(3) == 0 else np.float32
    a, b = (random.normal(0.0, 1.0, (rows, k)) for rows in (m, n))
    match random.integers(4):
        case 0:
            a[int(random.integers(m))] *= 20.0 if dtype is np.float16 else 1e4
        case 1:  # sums that come back
            a[:, 0], b[:, 0], a[:, k - 1], b[:, k - 1] = 250.0, 250.0, 250.0, -250.0
        case 2:
            a[int(random.integers(m))], b[int(random.integers(n))] = 1.0, 1.0
    a, b = a.astype(dtype), b.astype(dtype)
    strides = [_stride(random, width, kind) for width in (k, k, n)]
    tensors = {
        "a_ptr": Tensor(a, (strides[0], 1)),
        "b_ptr": Tensor(b, (strides[1], 1)),
        "c_ptr": Tensor(blank((m, n), dtype, np.nan), (strides[2], 1), Role.OUTPUT),
    }
    numbers = dict(zip(("a_row_stride", "b_row_stride", "c_row_stride"), strides, strict=True))
    numbers |= {"m": m, "n": n, "k": k, "Bm": Bm, "Bn": Bn, "Bk": Bk}
    return _case(kernel, f"{kind}, {np.dtype(dtype).name}", (-(-m // Bm), -(-n // Bn)), tensors, numbers, kind)


def _split(puzzle_id: str, kernel: Kernel, random: Random, kind: str, turn: int) -> Case:
    """Splits of any length, some without keys; or parts of any number, some of them empty."""
    br, bc, d = (int(random.choice([16, 32, 64], p=[0.5, 0.35, 0.15])) for _ in range(3))
    heads, n_q = int(random.integers(1, 4)), int(random.choice([1, 2, br - 1, br, int(random.integers(1, br + 1))]))
    keys = int(random.choice([1, bc - 1, bc, bc + 1, 2 * bc, int(random.integers(1, 3 * bc))]))
    n_k = max(1, keys * int(random.integers(4)) + int(random.choice([0, 1, keys - 1, int(random.integers(keys))])))
    splits = -(-n_k // keys) + int(random.choice([0, 0, 1, 2]))
    if kind == "large":
        n_k, splits, heads = int(random.integers(2000, 9000)), int(random.integers(2, 20)), 1 + turn % 2
        keys, d = -(-n_k // splits) + int(random.integers(3)), int(random.choice([16, 64]))
    elif kind == "far":
        heads, n_q, d = 6, min(n_q, 5), 16
    dtype: type = np.float16 if random.integers(3) == 0 else np.float32
    rows = {side: _stride(random, d, "usual") for side in ("q", "k")}
    apart = {side: _stride(random, rows[side] * n, kind) for side, n in (("q", n_q), ("k", n_k))}
    scale = float(np.float32(random.uniform(0.7, 2.2) / np.sqrt(d)))
    shape = (splits, heads, n_q, d)
    strides = {f"{side}_{of}_stride": n[side] for of, n in (("head", apart), ("row", rows)) for side in ("q", "k")}
    numbers = strides | {"n_q": n_q, "n_k": n_k, "keys_per_split": keys, "scale": scale, "D": d, "Br": br, "Bc": bc}
    name, of_rows = f"{kind}, {np.dtype(dtype).name}", (apart["q"], rows["q"], 1)
    if kernel.name == "split_kernel":
        given = _values(random, puzzle_id, (heads, n_q, n_k, d), scale, dtype, False, kind)
        tensors = {
            "q_ptr": Tensor(given["q"][0], of_rows),
            **{f"{x}_ptr": Tensor(given[x][0], (apart["k"], rows["k"], 1)) for x in "kv"},
            "o_part_ptr": Tensor.output(shape, np.float32, (heads * n_q * d, n_q * d, d, 1)),
            "lse_part_ptr": Tensor.output(shape[:3], np.float32, (heads * n_q, n_q, 1)),
        }
        return _case(kernel, name, (splits, heads), tensors, numbers, kind)
    lse = random.normal(0.0, random.choice([1.0, 30.0]), shape[:3]) + random.choice([0.0, 200.0, -200.0])
    o = random.normal(0.0, 1.0, shape) * random.choice([1.0, 100.0])
    if splits > 1:
        empty = random.integers(3, size=lse.shape) == 0
        empty[int(random.integers(splits))] = False
        lse[empty], o[empty] = -np.inf, 0.0
    tensors = {
        "o_part_ptr": Tensor(o.astype(np.float32), (heads * n_q * d, n_q * d, d, 1)),
        "lse_part_ptr": Tensor(lse.astype(np.float32), (heads * n_q, n_q, 1)),
        "o_ptr": Tensor.output(shape[1:], dtype, of_rows),
        "lse_ptr": Tensor.output(shape[1:3], np.float32, (n_q, 1)),
    }
    more = {"splits": splits, "Bs": (1 << (splits - 1).bit_length()) * int(random.choice([1, 1, 2]))}
    return _case(kernel, name, (n_q, heads), tensors, numbers | more, kind)


SOFTMAX, ATTENTION = ("p1", "p2", "p3", "p4"), ("p5", "p6", "p7", "a3")
# The place of a puzzle decides what is drawn for it: new ones stand at the end.
FAMILIES = {
    **dict.fromkeys(SOFTMAX, _softmax),
    **dict.fromkeys(ATTENTION, _attention),
    "w1": _vectors,
    "a1": _product,
    "w2": _row_sum,
    "w3": _transpose,
    "b1": _biased,
    "b2": _dropout,
    "b3": _split,
}
