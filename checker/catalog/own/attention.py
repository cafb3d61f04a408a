"""Attention, forward or forward and backward, called on (sequences, heads, rows, d) of any size and in any memory.

References and bounds are those of the kernels that c1 launches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.catalog.attention import values
from checker.catalog.attention.backward.cases import half_inputs
from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.pytorch.autograd import BACKWARD, FORWARD, Layout, expected, steps
from checker.catalog.attention.pytorch.calls import dense
from checker.catalog.numbers import BF16, as_type
from checker.catalog.own.given import Given, properties
from checker.catalog.own.inputs import as_drawn, large_scores, large_v, no_do, rising_scores, small_do
from checker.catalog.own.task import Task, rounded_up, unlimited
from checker.course.case import Axis, AxisKind, Case, Outputs, Tensor, numbered
from checker.course.claims import Claims
from checker.course.puzzle import Draw, Kernel

MANY, SQUARE = 200, 1100  # sequences or heads; queries and keys, if there are as many of both
TIMES = 2  # as the tests of flash-attention have it
TILE = 128  # the largest that functions commonly choose
GRADIENTS = ("dq", "dk", "dv")
_TYPES: Mapping[str, npt.DTypeLike] = {"fp32": np.float32, "fp16": np.float16, "bf16": BF16}
_QUERIES = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.QUERY), Axis(AxisKind.DIMENSION))
_KEYS = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.KEY), Axis(AxisKind.DIMENSION))


@dataclass(frozen=True)
class _Maker:
    given: Given
    draw: Draw
    kernel: Kernel

    @property
    def claims(self) -> Claims:
        return self.given.claims

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
        **how: Any,
    ) -> Case:
        """Return one call; `sizes` are sequences, heads, n_q and n_k; `share`: heads of Q for each head of K and V.

        `how`: what becomes of what was drawn (`change`), which gradients are wanted (`alone`), and how many calls there
        are (`in_a_row`).
        """
        batch, heads, n_q, n_k = sizes
        n_q, n_k = (rounded_up(n, self.claims) for n in (n_q, n_k))
        n_k = n_q if self.claims.square else n_k
        if self.claims.layout == "bnd":
            batch, heads = batch * heads, 1
        kind, d = kind if kind in self.claims.types else self.claims.types[0], d or self.claims.head_dims[0]
        causal = causal or self.claims.causal
        random = self.draw.case(f"{self.kernel.name} {name} {sizes} {causal}")
        shape = Shape(n_q, n_k, d, 16, 16, batch * heads)
        drawn = values.hard_inputs(random, shape) if hard else values.normal_inputs(random, shape)
        do = random.normal(size=drawn.q.shape)
        if hard and kind == "fp16" and self.kernel.name == FORWARD.name:
            drawn = values.with_large_v(drawn)  # whose sums, unlike its averages, fp16 cannot hold
        elif hard and kind == "fp16":
            drawn, do = half_inputs(random, shape)
        drawn, do = how.get("change", as_drawn)(drawn, do)
        factor = 1.0 if self.given.scale else drawn.scale * d**0.5
        x = {
            "q": (drawn.q * factor).reshape(batch, heads, n_q, d),
            **{n: getattr(drawn, n).reshape(batch, heads, n_k, d)[:, ::share] for n in "kv"},
            "do": do.reshape(batch, heads, n_q, d),
        }
        return self._call(
            f"{name}{', causal' if causal and self.given.causal else ''}",
            (proves,) if isinstance(proves, str) else proves,
            {n: as_type(one, _TYPES[kind]) for n, one in x.items()},
            drawn.scale if self.given.scale else d**-0.5,
            kind,
            layouts or {},
            causal,
            drawn.kinds if batch * heads == 1 else (),
            how.get("alone", "qkv"),
            how.get("in_a_row", 1),
        )

    def _call(
        self,
        title: str,
        proves: tuple[str, ...],
        x: Mapping[str, Any],
        scale: float,
        kind: str,
        layouts: Mapping[str, Layout],
        causal: bool,
        kinds: tuple[str, ...],
        alone: str,
        in_a_row: int,
    ) -> Case:
        usual = Layout.SIDE_BY_SIDE if self.claims.layout == "bnhd" else Layout.DENSE
        queries = (*_QUERIES[:2], replace(_QUERIES[2], labels=kinds), _QUERIES[3])
        sides = {"q": queries, "k": _KEYS, "v": _KEYS, "do": queries}
        backward = self.kernel.name == BACKWARD.name
        tensors = {}
        for name, one in x.items():
            if name != "do" or backward:
                layout = layouts.get(name, usual)
                if layout is Layout.EXPANDED:
                    one[...] = 0.5
                tensors[name] = Tensor(one, layout.strides(one.shape), axes=sides[name], bf16=kind == "bf16")
        like = {"o": x["q"]} | ({f"d{n}": x[n] for n in alone} if backward else {})
        if backward:
            del like["o"]
        for name, one in like.items():
            made = Tensor.output(one.shape, one.dtype, dense(one.shape), sides.get(name[1:], queries))
            tensors[name] = replace(made, bf16=kind == "bf16")
        if self.given.lse and not backward:
            rows = x["q"].shape[:3]
            tensors["lse"] = Tensor.output(rows, np.float32, dense(rows), queries[:3])
        batch, heads, n_q, d = x["q"].shape
        shared, n_k = x["k"].shape[1:3]
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
            "any-layout": any(layout is not usual for layout in layouts.values()),
            "half": kind != self.claims.types[0],
        }
        return Case(
            title=title,
            sizes=", ".join(words),
            kernel=self.kernel.name,
            proves=proves,
            grid=(1,),
            tensors=tensors,
            scalars={"scale": scale},
            constexprs={"causal": causal},
            asks=frozenset(name for name, is_asked in asks.items() if is_asked and name not in proves),
            informative=min(n_q, n_k) > 1,
            in_a_row=in_a_row,
        )

    def first(self) -> Case:
        """Return a call that most functions are right for."""
        return self.case("a first call", "values", (1, 2, 128, 128))

    def basic(self) -> Iterator[Case]:
        """Yield what most mistakes show in."""
        claims, back = self.claims, self.kernel.name == BACKWARD.name
        what = "gradients" if back else "values"
        tail = what if claims.whole_tiles else "any-length"
        if not claims.causal:
            yield self.case("two heads" if claims.whole_tiles else "a tail of both", tail, (1, 2, 37, 75))
            yield self.case("whole tiles", what, (1, 1, 128, 128))
            yield self.case("every kind of score", what, (1, 1, 40, 83), hard=not back)
        if self.given.causal or claims.causal:
            yield self.case("whole tiles", "causal", (1, 1, 128, 128), causal=True)
            yield self.case("as many queries as keys", ("causal", tail), (1, 1, 75, 75), causal=True)
            if not claims.square:
                yield self.case("more keys than queries", "causal", (1, 1, 40, 150), causal=True)
                yield self.case("more queries than keys", "hidden-queries", (1, 1, 150, 40), causal=True)
        yield self.case("several sequences and heads", "heads", (2, 3, 33, 41))
        if claims.kv_heads:
            for share in (3, 6):
                yield self.case("shared heads", "shared-heads", (2, 6, 33, 41), share=share)
        yield from self._layouts(back)

    def _layouts(self, back: bool) -> Iterator[Case]:
        if self.claims.dense:
            return
        layouts: list[tuple[str, dict[str, Layout]]] = [
            ("Q, K and V cut from one tensor", dict.fromkeys("qkv", Layout.PACKED)),
            ("Q with gaps", {"q": Layout.PADDED}),
            ("K with heads in another order", {"k": self._other_order}),
            ("V with gaps", {"v": Layout.PADDED}),
        ]
        layouts += [("dO of a sum", {"do": Layout.EXPANDED})] if back else []
        for name, layout in layouts:
            yield self.case(name, "any-layout", (2, 2, 33, 41), layouts=layout)

    def others(self) -> Iterator[Case]:
        """Sizes on both sides of common tiles, types, heads of other widths."""
        claims, back = self.claims, self.kernel.name == BACKWARD.name
        what = "gradients" if back else "values"
        tail = what if claims.whole_tiles else "any-length"
        full, causal = not claims.causal, self.given.causal or claims.causal
        some = full and not causal
        yield self.case("one call after another", "heads", (2, 2, 33, 41), causal=not some, in_a_row=2)
        for alone in "qkv" if back else "":
            yield self.case(f"a gradient of {alone.upper()} alone", what, (1, 2, 33, 41), causal=not some, alone=alone)
        sizes = [(16, 129), (100, 128), (64, 65), (127, 32), (128, 100), (130, 17), (1, 1), (1, 100), (65, 1)]
        sizes = sizes[:2] if claims.whole_tiles else sizes
        for n_q, n_k in {(n, n) for n, _ in sizes} if claims.square else sizes:
            both = (False, True) if full and causal else (causal,)
            for mask in both if not back else both[-1:]:
                yield self.case("around a tile", tail, (1, 1, n_q, n_k), causal=mask)
        apart = {} if claims.dense else {"k": self._other_order, "v": Layout.PADDED}
        if claims.kv_heads and causal:
            yield self.case("shared heads", "shared-heads", (2, 6, 33, 41), share=3, causal=True)
        for d in claims.head_dims[1:]:
            for mask in (False, True) if full and causal else (causal,):
                n_q, n_k = (150, 40) if mask else (40, 150)
                yield self.case("another head", what, (2, 2, n_q, n_k), d=d, causal=mask, layouts=apart)
        if causal:
            yield self.case("several tiles", "causal", (1, 1, 260, 260), causal=True)
            for n_q, n_k in ((34, 65), (65, 95), (64, 66)):
                yield self.case("keys ahead", "causal", (1, 1, n_q, n_k), causal=True)
        yield self.case("many sequences and heads", "heads", (5, 27, 5, 9), causal=not full)
        if not claims.square:
            yield self.case("many keys", what, (1, 1, 3, 2100), causal=not full, hard=not back)
            yield self.case("many queries", what, (1, 1, 1100, 5), causal=causal)
        yield self.case("one query of each head", "heads", (3, 2, 1, 40), causal=not full)
        yield from self._values(what, causal=not full)
        for c in self.given.compared:
            if claims.square and c < SQUARE:
                yield self.case("beyond a number of the file", tail, (1, 1, c + 1, c + 1), causal=causal)
            elif not claims.square:
                yield self.case("beyond a number of the file", tail, (1, 1, c + 1, 9), causal=not full)
                yield self.case("beyond a number of the file", tail, (1, 1, 9, c + 1), causal=causal)
            if c < MANY:
                yield self.case("beyond a number of the file", "heads", (c + 1, 1, 5, 7), causal=not full)
                yield self.case("beyond a number of the file", "heads", (1, c + 1, 5, 7), causal=not full)
        for kind in claims.types[1:]:
            for mask in (False, True) if full and causal else (causal,):
                yield self.case("half precision", "half", (2, 2, 70, 110), causal=mask, kind=kind, layouts=apart)
                yield self.case(
                    "half precision, every kind of score", "half", (1, 1, 31, 79), causal=mask, kind=kind, hard=True
                )
            if not back:
                yield self.case(
                    "half precision, many keys", "half", (1, 1, 5, 2100), causal=not full, kind=kind, hard=True
                )

    @property
    def _other_order(self) -> Layout:
        return Layout.DENSE if self.claims.layout == "bnhd" else Layout.SIDE_BY_SIDE

    def _values(self, what: str, *, causal: bool) -> Iterator[Case]:
        """Numbers that a function may take for something else, or that its types do not hold."""
        sizes, fp32 = (2, 1, 24, 40), "fp32" in self.claims.types
        if self.kernel.name == BACKWARD.name:
            if fp32:
                yield self.case("a small dO", what, sizes, causal=causal, kind="fp32", change=small_do)
            yield self.case("dO of 0 for one sequence", what, sizes, causal=causal, change=no_do)
        else:
            if fp32:
                yield self.case(
                    "large scores of both signs", what, (1, 1, 24, 20), causal=causal, kind="fp32", change=large_scores
                )
                if causal or self.given.causal:
                    yield self.case(
                        "far higher scores ahead", "causal", sizes, causal=True, kind="fp32", change=rising_scores
                    )
            for kind in (one for one in self.claims.types if one != "fp16"):
                yield self.case("a large V", what, sizes, causal=causal, kind=kind, change=large_v)


def task(given: Given, name: str) -> Task:
    """Return what is asked of a function that is called so, which is called `name` in reports."""
    kernels = [replace(FORWARD, launches=given.kernels)]
    kernels += [replace(BACKWARD, launches=())] if given.gradients else []

    def cases(draw: Draw) -> list[Case]:
        made = [_Maker(given, draw, kernel) for kernel in kernels]
        return numbered(case for of in (_Maker.basic, _Maker.others) for one in made for case in of(one))

    basic = Draw("own-attention")
    return Task(
        id="attention",
        kernels=tuple(kernels),
        properties=properties(given),
        cases=cases,
        expected=expected,
        budget=unlimited,
        steps=steps,
        misconceptions=(),
        name=name,
        basic=sum(1 for kernel in kernels for _ in _Maker(given, basic, kernel).basic()),
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


def probe(given: Given, draw: Draw) -> Case:
    """Return a call that asks for all that a function may return, to see what it does."""
    every = replace(given, lse=True)
    one, other = (_Maker(every, draw, kernel).first() for kernel in (FORWARD, BACKWARD))
    return replace(one, tensors={**other.tensors, **one.tensors}, id=0)


def forward_alone(case: Case) -> Mapping[str, Tensor]:
    """Return the tensors of such a call without the backward pass."""
    return {name: tensor for name, tensor in case.tensors.items() if name != "do" and name not in GRADIENTS}


def as_near(case: Case, outputs: Outputs) -> bool:
    """Return whether O in half precision is at most TIMES as far from the right one as PyTorch's plain attention."""
    o = case.tensors["o"]
    if not o.bf16 and o.values.dtype != np.float16:
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
