"""Layouts of attention's heads and rows in memory, and launches of tiles of them.

Q-shaped tensors have the shape (heads, n_q, D), K-shaped ones (heads, n_k, D), each kind with a head
and a row stride of its own; l, m, LSE and delta have the shape (heads, n_q) and are contiguous.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checker.catalog.cases import covering
from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, asked_besides, blank
from checker.course.kernel import Kernel, kernel_of

FAR_APART = 2**30  # elements between heads, and more: head 2 begins beyond int32, head 4 beyond uint32
FAR_ROW = 2**24  # elements between rows, and more: row 128 begins beyond int32, and the 64 rows of a tile span less
Proves = str | tuple[str, ...]  # one property, or several


def tiled_kernel(
    name: str, tensors: str, *strides: str, sizes: str = "n_q n_k scale", constexprs: str = "D Br Bc"
) -> Kernel:
    """Return a kernel on tiles of Q-shaped and K-shaped tensors; `strides`: what it has besides of those."""
    pointers = " ".join(f"{tensor}_ptr" for tensor in tensors.split())
    own = "q_head_stride q_row_stride k_head_stride k_row_stride"
    return kernel_of(name, pointers, own, *strides, sizes, constexprs=constexprs)


@dataclass(frozen=True)
class Shape:
    """Sizes of one launch. `q_gaps` and `k_gaps`: unused elements after each row, and after each head."""

    n_q: int
    n_k: int
    D: int
    Br: int
    Bc: int
    heads: int = 1
    q_gaps: tuple[int, int] = (8, 24)
    k_gaps: tuple[int, int] = (16, 56)

    def apart(self, random: np.random.Generator, far: int = 0, layout: int | None = None) -> Shape:
        """Return the same with rows and heads padded by any number of elements, Q-shaped and K-shaped ones differently.

        `far`: how many elements more there are between heads, and then rows lie more than 2**16 apart. `layout`: one of
        `covering`'s, if it is not to be drawn.
        """
        drawn = int(random.integers(covering.FIRST_WIDER, covering.SECOND_WIDER + 1)) if layout is None else layout
        rows, (q, k) = covering.gaps(drawn, random), covering.gaps(drawn, random)
        if layout in (covering.FIRST_PADDED, covering.SECOND_PADDED):
            q, k = k, q  # dense rows have heads that lie apart, and padded ones heads that follow one another
        if layout == covering.ALIKE:  # heads as well begin equally far apart, of however many rows they are
            most = max(self.n_q, self.n_k)
            q, k = ((most - n) * (self.D + rows[0]) + q for n in (self.n_q, self.n_k))
        wide = far >> 13
        return replace(self, q_gaps=(rows[0] + wide, q + far), k_gaps=(rows[1] + wide, k + far))

    def interleaved(self, random: np.random.Generator, q: bool = True, k: bool = True) -> Shape:
        """Return the same as if cut from tensors of shape (rows, heads, D): a head's row lies inside that of all heads.

        `q`, `k`: whether Q-shaped and K-shaped tensors are; the other ones are dense.
        """
        found = []
        for rows, gap in zip((self.n_q, self.n_k), random.choice(64, 2, replace=False), strict=True):
            head = self.D + int(gap)
            row = self.heads * head
            found.append((row - self.D, head - rows * row))
        return replace(self, q_gaps=found[0] if q else (0, 0), k_gaps=found[1] if k else (0, 0))

    def with_far_rows(self, random: np.random.Generator) -> Shape:
        """Return the shape as if cut from tensors (rows, heads, D) with rows so long that offsets pass 2**32."""
        found = []
        for rows, row in zip((self.n_q, self.n_k), FAR_ROW + random.choice(2**22, 2, replace=False), strict=True):
            head = self.D + int(random.integers(64))
            found.append((int(row) - self.D, head - rows * int(row)))
        return replace(self, q_gaps=found[0], k_gaps=found[1])

    @property
    def far_row(self) -> int:
        """The row stride of Q if it is that of `with_far_rows`, and 0 if not."""
        return self.strides("q")[1] if self.strides("q")[1] >= FAR_ROW else 0

    @property
    def dense(self) -> bool:
        """Whether nothing lies between rows, nor between heads."""
        return not any((*self.q_gaps, *self.k_gaps))

    @property
    def tr(self) -> int:
        """Number of query tiles."""
        return -(-self.n_q // self.Br)

    @property
    def tc(self) -> int:
        """Number of key tiles."""
        return -(-self.n_k // self.Bc)

    def strides(self, side: str) -> tuple[int, int]:
        """(head stride, row stride) in elements of the Q-shaped (`q`) or K-shaped (`k`) tensors."""
        rows, (row_gap, head_gap) = (self.n_q, self.q_gaps) if side == "q" else (self.n_k, self.k_gaps)
        row = self.D + row_gap
        return (head_gap if head_gap >= FAR_APART else rows * row + head_gap), row


def tensors(
    shape: Shape, values: Mapping[str, Array], role: Role = Role.INPUT, kinds: tuple[str, ...] = (), bf16: bool = False
) -> dict[str, Tensor]:
    """Tensors by parameter, from values by name, each laid out as one of its name is.

    `kinds`: what the queries are. `bf16`: matrices are passed as bf16.
    """
    made = {}
    queries = (Axis(AxisKind.HEAD), Axis(AxisKind.QUERY, shape.Br, kinds), Axis(AxisKind.DIMENSION))
    keys = (Axis(AxisKind.HEAD), Axis(AxisKind.KEY, shape.Bc), Axis(AxisKind.DIMENSION))
    for name, x in values.items():
        if x.ndim == 2:
            tensor = Tensor(x, (shape.n_q, 1), role, queries[:2])
        elif name in ("k", "v", "dk", "dv"):
            tensor = Tensor(x, (*shape.strides("k"), 1), role, keys, bf16)
        else:
            tensor = Tensor(x, (*shape.strides("q"), 1), role, queries, bf16)
        made[f"{name}_ptr"] = tensor
    return made


def unwritten(rows: Array, dtype: npt.DTypeLike) -> Array:
    """NaN in the shape of `rows`."""
    return blank(rows.shape, dtype, np.nan)


def launch(
    kernel: Kernel,
    name: str,
    proves: Proves,
    shape: Shape,
    tensors: Mapping[str, Tensor],
    scale: float,
    grid: tuple[int, ...],
    causal: bool | None = None,
    once: bool = False,
    **more: int | float,
) -> Case:
    """Return one launch; scalars and constexprs are those that the kernel has parameters for.

    `once`: chosen for its sizes. `more`: what only this kernel has parameters for. The last axis of the grid is the
    head, but of a kernel that goes over the heads in a loop.
    """
    (q_head, q_row), (k_head, k_row) = shape.strides("q"), shape.strides("k")
    far = max(q_head, k_head, more.get("bias_head_stride", 0), shape.n_q * q_row, shape.n_k * k_row) >= FAR_APART
    scalars = {
        "q_head_stride": q_head,
        "q_row_stride": q_row,
        "k_head_stride": k_head,
        "k_row_stride": k_row,
        "n_q": shape.n_q,
        "n_k": shape.n_k,
        "scale": scale,
        **more,
    }
    constexprs = {"D": shape.D, "Br": shape.Br, "Bc": shape.Bc, "CAUSAL": bool(causal), **more}
    of = (proves,) if isinstance(proves, str) else proves
    asks = {
        "any-length": shape.n_q % shape.Br > 0 or shape.n_k % shape.Bc > 0,
        "causal": bool(causal),
        "hidden-queries": causal is not False and shape.n_q > shape.n_k,
        "heads": shape.heads > 1 or not shape.dense,
        "half": any(tensor.bf16 or tensor.values.dtype == np.float16 for tensor in tensors.values()),
        "far-offsets": far,
    }
    heads = f"{shape.heads} heads, " if shape.heads > 1 else ""
    mask = {None: "", True: ", causal", False: ", full"}[causal]
    besides = "".join(
        f", {name}={value:.6g}" if isinstance(value, float) else f", {name}={value}" for name, value in more.items()
    )
    if shape.far_row:
        besides = f", q_row_stride={q_row}, k_row_stride={k_row}{besides}"
    return Case(
        title=name,
        sizes=f"{heads}n_q={shape.n_q}, n_k={shape.n_k}, D={shape.D}, Br={shape.Br}, Bc={shape.Bc}{mask}{besides}",
        kernel=kernel.name,
        proves=of,
        asks=asked_besides(of, asks),
        grid=grid,
        tensors={parameter: tensors[parameter] for parameter in kernel.parameters if parameter in tensors},
        scalars={
            parameter: scalars[parameter]
            for parameter in kernel.parameters
            if parameter in scalars and parameter not in kernel.constexprs
        },
        constexprs={parameter: constexprs[parameter] for parameter in kernel.constexprs},
        checked_arithmetic=far,
        informative=not far and min(shape.n_q, shape.n_k) > 1 and not once,
        once=far or once,
    )


def sampled(case: Case, tiles: Collection[int] | None, heads: Collection[int]) -> Case:
    """Return the launch with some of its programs only: of these heads these tiles, or all where a program is a head.

    Where the grid has no heads, these are the numbers along its last axis.
    """
    count = case.grid[0] if len(case.grid) > 1 else 1
    some = range(count) if tiles is None else tiles
    asked = {}
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT:
            extents = tensor.values.shape
            axes = [axis.kind for axis in tensor.axes]
            if AxisKind.HEAD not in axes:
                down, across = (
                    np.isin(np.arange(extent) // axis.block, [*own])
                    for extent, axis, own in zip(extents, tensor.axes, (some, heads), strict=True)
                )
                asked[name] = down[:, None] & across[None, :]
                continue
            head = axes.index(AxisKind.HEAD)  # partial results have another axis before it
            mask = np.isin(np.arange(extents[head]), [*heads])[:, None]
            if tiles is not None:
                mask = mask & np.isin(np.arange(extents[1]) // tensor.axes[1].block, [*tiles])[None, :]
            asked[name] = np.broadcast_to(mask.reshape(*mask.shape, *(1,) * (len(extents) - head - 2)), extents)
    return replace(case, programs=tuple(head * count + tile for head in heads for tile in some), asked=asked)


def some_heads(case: Case, random: np.random.Generator) -> Case:
    """Return the launch with a few of its many heads: the first, the last, one between, and two at round numbers.

    A kernel that counts heads modulo a power of two, or 10, 48 or 100, has two of them meet.
    """
    last = case.grid[-1] - 1
    round_ones = 1 << (last.bit_length() - 1), last // 60 * 60
    return sampled(case, None, sorted({0, *round_ones, int(random.integers(1, last)), last}))


def shape_of(case: Case) -> Shape:
    """Return the sizes of a launch again, from its tensors. The gaps are left out."""
    q = case.tensors["q_ptr"] if "q_ptr" in case.tensors else case.tensors["o_ptr"]
    heads, n_q, d = q.values.shape
    n_k = case.tensors["k_ptr"].values.shape[1] if "k_ptr" in case.tensors else n_q
    blocks = case.constexprs
    Br = int(blocks.get("Br", 1))  # without tiles of queries, a program has one
    return Shape(n_q, n_k, d, Br, int(blocks.get("Bc", Br)), heads)


def writes(case: Case, name: str) -> bool:
    """Return whether an output of this name is asked for: so the launches of a family are told apart."""
    tensor = case.tensors.get(f"{name}_ptr")
    return tensor is not None and tensor.role is not Role.INPUT


def wide(case: Case, name: str) -> Array:
    """Return a tensor's values in float64."""
    return case.tensors[f"{name}_ptr"].values.astype(np.float64)
