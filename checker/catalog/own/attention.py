"""Attention, forward or forward and backward, called on (sequences, heads, rows, d) of any size and in any memory.

References and bounds are those of the kernels that c1 launches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checker.catalog.attention import values
from checker.catalog.attention.backward.cases import half_inputs
from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.pytorch.autograd import BACKWARD, FORWARD, Layout, expected, steps
from checker.catalog.attention.pytorch.calls import dense
from checker.catalog.numbers import BF16, as_type
from checker.catalog.own.inputs import as_drawn, large_scores, large_v, no_do, rising_scores, small_do
from checker.catalog.own.task import Task, rounded_up, unlimited
from checker.course.case import Array, Axis, AxisKind, Case, Outputs, Tensor, asked_besides, numbered
from checker.course.claims import Claims
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw, Property

MANY, SQUARE = 200, 1100  # sequences or heads; queries and keys, if there are as many of both
TIMES = 2  # as the tests of flash-attention have it
TILE = 128  # the largest that functions commonly choose
GRADIENTS = ("dq", "dk", "dv")
_TYPES: Mapping[str, npt.DTypeLike] = {"fp32": np.float32, "fp16": np.float16, "bf16": BF16}
_QUERIES = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.QUERY), Axis(AxisKind.DIMENSION))
_KEYS = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.KEY), Axis(AxisKind.DIMENSION))


@dataclass(frozen=True)
class Given:
    """A function as it can be called: its claims, and the parameters and outputs that it has."""

    claims: Claims
    scale: bool  # it gets one, and else it is 1 / sqrt(d)
    causal: bool  # it is told whether it is causal, and else it is as it claims
    kernels: tuple[str, ...]  # that its file has
    compared: tuple[int, ...]  # whole numbers that something is compared with there
    lse: bool = False  # it returns LSE as well
    gradients: bool = False  # its output has a gradient


def properties(given: Given) -> tuple[Property, ...]:
    """Return the properties that a function with these claims must have."""
    claims, masks = given.claims, given.causal or given.claims.causal
    asked = {
        "values": f"{'O and LSE' if given.lse else 'O'}, with scores of every kind",
        "gradients": "dQ, dK and dV" if given.gradients else "",
        "any-length": "" if claims.whole_tiles else "any number of queries and keys",
        "causal": "causal" if masks else "",
        "hidden-queries": "queries that see no key" if masks and not claims.square else "",
        "heads": "several sequences and heads",
        "shared-heads": "heads of Q that share one of K and V" if claims.kv_heads else "",
        "any-layout": "" if claims.dense else "however Q, K and V lie in memory",
        "half": "half precision in and out" if {*claims.types} - {claims.types[0]} else "",
    }
    return tuple(Property(name, title, 0) for name, title in asked.items() if title)


class _Maker:
    """Calls of one pass, forward or backward."""

    def __init__(self, given: Given, draw: Draw, kernel: Kernel):
        self.given, self.draw, self.kernel, self.claims = given, draw, kernel, given.claims
        self.back = kernel.name == BACKWARD.name
        self.what = "gradients" if self.back else "values"
        self.tail = self.what if self.claims.whole_tiles else "any-length"
        self.masked = given.causal or self.claims.causal  # some calls are causal
        self.masks = (False, True) if self.masked and not self.claims.causal else (self.masked,)
        layouts = (Layout.DENSE, Layout.SIDE_BY_SIDE)
        self.usual, self.other_order = layouts[::-1] if self.claims.layout == "bnhd" else layouts

    def case(
        self,
        name: str,
        proves: Proves,
        sizes: tuple[int, int, int, int],
        *,
        d: int = 0,
        causal: bool = False,
        kind: str = "",
        hard: bool = False,
        layouts: Mapping[str, Layout] | None = None,
        share: int = 1,
        change: Callable[[values.Inputs, Array], tuple[values.Inputs, Array]] = as_drawn,
        alone: str = "qkv",
        in_a_row: int = 1,
    ) -> Case:
        """Return one call; `sizes` are sequences, heads, n_q and n_k; `share`: heads of Q for each head of K and V.

        `change`: what becomes of what was drawn; `alone`: which gradients are wanted.
        """
        claims, back, layouts = self.claims, self.back, layouts or {}
        proves = (proves,) if isinstance(proves, str) else proves
        batch, heads, n_q, n_k = sizes
        n_q, n_k = (rounded_up(n, claims) for n in (n_q, n_k))
        n_k = n_q if claims.square else n_k
        if claims.layout == "bnd":
            batch, heads = batch * heads, 1
        kind, d = kind if kind in claims.types else claims.types[0], d or claims.head_dims[0]
        causal = causal or claims.causal
        random = self.draw.case(f"{self.kernel.name} {name} {sizes} {causal}")
        shape = Shape(n_q, n_k, d, 16, 16, batch * heads)
        drawn = values.hard_inputs(random, shape) if hard else values.normal_inputs(random, shape)
        do = random.normal(size=drawn.q.shape)
        if hard and kind == "fp16":  # forward with a V whose sums, unlike its averages, fp16 cannot hold
            drawn, do = half_inputs(random, shape) if back else (values.with_large_v(drawn), do)
        drawn, do = change(drawn, do)
        of_scale = 1.0 if self.given.scale else drawn.scale * d**0.5
        labels = drawn.kinds if batch * heads == 1 else ()
        queries = (*_QUERIES[:2], replace(_QUERIES[2], labels=labels), _QUERIES[3])
        tensors, outputs = {}, ["o"]
        of = [("q", drawn.q * of_scale, n_q, queries), ("k", drawn.k, n_k, _KEYS), ("v", drawn.v, n_k, _KEYS)]
        if back:
            of.append(("do", do, n_q, queries))
            outputs = [f"d{one}" for one in alone]
        for one, x, rows, axes in of:
            x = as_type(x.reshape(batch, heads, rows, d)[:, :: share if axes is _KEYS else 1], _TYPES[kind])
            layout = layouts.get(one, self.usual)
            if layout is Layout.EXPANDED:
                x[...] = 0.5
            tensors[one] = Tensor(x, layout.strides(x.shape), axes=axes, bf16=kind == "bf16")
        for one in outputs:
            like = tensors[one[1:] or "q"]
            made = Tensor.output(like.values.shape, like.values.dtype, dense(like.values.shape), like.axes)
            tensors[one] = replace(made, bf16=like.bf16)
        if self.given.lse and not back:
            tensors["lse"] = Tensor.output((batch, heads, n_q), np.float32, (heads * n_q, n_q, 1), queries[:3])
        shared = -(-heads // share)
        words = [f"{batch} sequences"] if batch > 1 else []
        words += [f"{heads} heads"] if heads > 1 else []
        words += [f"{shared} of K and V"] if shared < heads else []
        words += [f"n_q={n_q}", f"n_k={n_k}", f"d={d}", *([kind] if kind != "fp32" else [])]
        asks = {
            "any-length": n_q % TILE > 0 or n_k % TILE > 0,
            "causal": causal,
            "hidden-queries": causal and n_q > n_k,
            "heads": batch * heads > 1,
            "shared-heads": shared < heads,
            "any-layout": any(layout is not self.usual for layout in layouts.values()),
            "half": kind != claims.types[0],
        }
        return Case(
            title=f"{name}{', causal' if causal and self.given.causal else ''}",
            sizes=", ".join(words),
            kernel=self.kernel.name,
            proves=proves,
            grid=(1,),
            tensors=tensors,
            scalars={"scale": drawn.scale if self.given.scale else d**-0.5},
            constexprs={"causal": causal},
            asks=asked_besides(proves, asks),
            informative=min(n_q, n_k) > 1,
            in_a_row=in_a_row,
        )

    def first(self) -> Case:
        """Return a call that most functions are right for."""
        return self.case("a first call", "values", (1, 2, 128, 128))

    def basic(self) -> Iterator[Case]:
        """Yield what most mistakes show in."""
        claims = self.claims
        if not claims.causal:
            yield self.case("two heads" if claims.whole_tiles else "a tail of both", self.tail, (1, 2, 37, 75))
            yield self.case("whole tiles", self.what, (1, 1, 128, 128))
            yield self.case("every kind of score", self.what, (1, 1, 40, 83), hard=not self.back)
        if self.masked:
            yield self.case("whole tiles", "causal", (1, 1, 128, 128), causal=True)
            yield self.case("as many queries as keys", self.tail, (1, 1, 75, 75), causal=True)
            if not claims.square:
                yield self.case("more keys than queries", "causal", (1, 1, 40, 150), causal=True)
                yield self.case("more queries than keys", "hidden-queries", (1, 1, 150, 40), causal=True)
        yield self.case("several sequences and heads", "heads", (2, 3, 33, 41))
        for share in (3, 6) if claims.kv_heads else ():
            yield self.case("shared heads", "shared-heads", (2, 6, 33, 41), share=share)
        if claims.dense:
            return
        layouts: dict[str, dict[str, Layout]] = {
            "Q, K and V cut from one tensor": dict.fromkeys("qkv", Layout.PACKED),
            "Q with gaps": {"q": Layout.PADDED},
            "K with heads in another order": {"k": self.other_order},
            "V with gaps": {"v": Layout.PADDED},
            **({"dO of a sum": {"do": Layout.EXPANDED}} if self.back else {}),
        }
        for name, layout in layouts.items():
            yield self.case(name, "any-layout", (2, 2, 33, 41), layouts=layout)

    def others(self) -> Iterator[Case]:
        """Yield sizes on both sides of common tiles, types, heads of other widths."""
        claims, back, masked, what = self.claims, self.back, self.masked, self.what
        yield self.case("one call after another", "heads", (2, 2, 33, 41), causal=masked, in_a_row=2)
        for alone in "qkv" if back else "":
            yield self.case(f"a gradient of {alone.upper()} alone", what, (1, 2, 33, 41), causal=masked, alone=alone)
        sizes = [(16, 129), (100, 128), (64, 65), (127, 32), (128, 100), (130, 17), (1, 1), (1, 100), (65, 1)]
        sizes = sizes[:2] if claims.whole_tiles else sizes
        for n_q, n_k in {(n, n) for n, _ in sizes} if claims.square else sizes:
            for mask in self.masks[-1:] if back else self.masks:
                yield self.case("around a tile", self.tail, (1, 1, n_q, n_k), causal=mask)
        apart = {} if claims.dense else {"k": self.other_order, "v": Layout.PADDED}
        if claims.kv_heads and masked:
            yield self.case("shared heads", "shared-heads", (2, 6, 33, 41), share=3, causal=True)
        for d in claims.head_dims[1:]:
            for mask in self.masks:
                n_q, n_k = (150, 40) if mask else (40, 150)
                yield self.case("another head", what, (2, 2, n_q, n_k), d=d, causal=mask, layouts=apart)
        if masked:
            yield self.case("several tiles", "causal", (1, 1, 260, 260), causal=True)
            for n_q, n_k in ((34, 65), (65, 95), (64, 66)):
                yield self.case("keys ahead", "causal", (1, 1, n_q, n_k), causal=True)
        yield self.case("many sequences and heads", "heads", (5, 27, 5, 9))
        if not claims.square:
            yield self.case("many keys", what, (1, 1, 3, 2100), hard=not back)
            yield self.case("many queries", what, (1, 1, 1100, 5), causal=masked)
        yield self.case("one query of each head", "heads", (3, 2, 1, 40))
        yield from self._values()
        for c in self.given.compared:
            beyond = [((1, 1, c + 1, 9), False), ((1, 1, 9, c + 1), masked)]
            if claims.square:
                beyond = [((1, 1, c + 1, c + 1), masked)] if c < SQUARE else []
            for of, mask in beyond:
                yield self.case("beyond a number of the file", self.tail, of, causal=mask)
            for of in ((c + 1, 1, 5, 7), (1, c + 1, 5, 7)) if c < MANY else ():
                yield self.case("beyond a number of the file", "heads", of)
        for kind in claims.types[1:]:
            for mask in self.masks:
                yield self.case("half precision", "half", (2, 2, 70, 110), causal=mask, kind=kind, layouts=apart)
                name = "half precision, every kind of score"
                yield self.case(name, "half", (1, 1, 31, 79), causal=mask, kind=kind, hard=True)
            if not back:
                yield self.case("half precision, many keys", "half", (1, 1, 5, 2100), kind=kind, hard=True)

    def _values(self) -> Iterator[Case]:
        """Yield numbers that a function may take for something else, or that its types do not hold."""
        sizes, fp32 = (2, 1, 24, 40), "fp32" in self.claims.types
        if self.back:
            if fp32:
                yield self.case("a small dO", self.what, sizes, kind="fp32", change=small_do)
            yield self.case("dO of 0 for one sequence", self.what, sizes, change=no_do)
            return
        if fp32:
            name = "large scores of both signs"
            yield self.case(name, self.what, (1, 1, 24, 20), kind="fp32", change=large_scores)
        if fp32 and self.masked:
            yield self.case("far higher scores ahead", "causal", sizes, causal=True, kind="fp32", change=rising_scores)
        for kind in (one for one in self.claims.types if one != "fp16"):
            yield self.case("a large V", self.what, sizes, kind=kind, change=large_v)


def task(given: Given, name: str) -> Task:
    """Return what is asked of a function that is called so, which is called `name` in reports."""
    kernels = (replace(FORWARD, launches=given.kernels), *([replace(BACKWARD, launches=())] * given.gradients))

    def made(draw: Draw, which: Callable[[_Maker], Iterator[Case]]) -> list[Case]:
        return [case for kernel in kernels for case in which(_Maker(given, draw, kernel))]

    return Task(
        id="attention",
        kernels=kernels,
        properties=properties(given),
        cases=lambda draw: numbered((*made(draw, _Maker.basic), *made(draw, _Maker.others))),
        expected=expected,
        budget=unlimited,
        steps=steps,
        misconceptions=(),
        name=name,
        basic=len(made(Draw("own-attention"), _Maker.basic)),
    )


def first_call(given: Given) -> Case:
    """Return a call of the forward pass with whole tiles."""
    return replace(_Maker(given, Draw("own-first"), FORWARD).first(), id=0)


def trials(given: Given) -> Mapping[str, Case]:
    """Return by claim a call that a function with this claim need not take, of those that were not made."""
    maker, whole = _Maker(given, Draw("own-first"), FORWARD), (1, 2, 128, 128)
    made = {
        "square": maker.case("a trial", "values", (1, 2, 128, 256)),
        "whole_tiles": maker.case("a trial", "values", (1, 2, 75, 75)),
        "dense": maker.case("a trial", "values", whole, layouts=dict.fromkeys("qkv", Layout.PADDED)),
    }
    return {claim: replace(case, id=0) for claim, case in made.items() if not getattr(given.claims, claim)}


def probe(given: Given) -> Case:
    """Return a call that asks for all that a function may return, to see what it does."""
    every, draw = replace(given, lse=True), Draw("own-attention")
    one, other = (_Maker(every, draw, kernel).first() for kernel in (FORWARD, BACKWARD))
    return replace(one, tensors={**other.tensors, **one.tensors}, id=0)


def forward_alone(case: Case) -> Mapping[str, Tensor]:
    """Return the tensors of such a call without the backward pass."""
    return {name: tensor for name, tensor in case.tensors.items() if name != "do" and name not in GRADIENTS}


def as_near(case: Case, outputs: Outputs) -> bool:
    """Return whether O in half precision is at most TIMES as far from the right one as PyTorch's plain attention."""
    o = case.tensors.get("o")
    if o is None or not (o.bf16 or o.values.dtype == np.float16):
        return False
    kind = BF16 if o.bf16 else np.float16
    q, k, v = (case.tensors[name].values.astype(np.float32) for name in "qkv")
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    with np.errstate(all="ignore"):
        s = as_type(q @ k.swapaxes(-1, -2), kind).astype(np.float32) * case.scalars["scale"]
        if case.constexprs["causal"]:
            s = np.where(np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2]) > 0, s, -np.inf)
        p = np.nan_to_num(np.exp(s - s.max(axis=-1, keepdims=True)))
        p /= np.maximum(p.sum(axis=-1, keepdims=True), 1e-30)
        plain = as_type(as_type(p, kind).astype(np.float32) @ v, kind).astype(np.float32)
        right = expected(case)["o"].values
        ours, theirs = (np.abs(x.astype(np.float64) - right).max() for x in (outputs["o"], plain))
    return bool(ours <= TIMES * theirs)
