"""Cases of attention with a bias: which axes it has a number for each, and how it lies, are factors of the design."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.catalog.attention.bias.launch import (
    DENSE,
    FULL,
    KINDS,
    LAYOUTS,
    OF_ALL_HEADS,
    TRANSPOSED,
    Bias,
    Kind,
    attention_launch,
    drawn_bias,
    gradient_launch,
)
from checker.catalog.attention.forward.cases import EVERY, FAR_ROWS, LONG, CaseMaker, Chosen
from checker.catalog.attention.launch import FAR_APART, Proves, Shape, sampled
from checker.catalog.attention.values import Inputs, drawn_factor, hard_inputs, normal_inputs
from checker.catalog.cases import covering
from checker.catalog.numbers import as_type
from checker.course.case import Array, Case
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw

Fact = tuple[str, int]
OF_FAR_HEADS = tuple(kind for kind in KINDS if kind[0])


class Kinds:
    """Chooses kind and layout of one launch's bias after the other, so that all meet all residue classes early on."""

    def __init__(self, random: np.random.Generator) -> None:
        every = [(kind, layout) for kind in KINDS for layout in LAYOUTS]
        self._order: list[tuple[Kind, int]] = [every[n] for n in random.permutation(len(every))]
        self._met: Counter[object] = Counter()

    def of(self, shape: Shape, half: bool, causal: bool, kinds: tuple[Kind, ...] = KINDS) -> tuple[Kind, int]:
        """Return the kind and layout with which this launch meets most that has not been met."""
        facts, met = self._facts(shape, half, causal), self._met
        new = {one: sum((one, fact) not in met for fact in facts) for one in (*kinds, *LAYOUTS)}

        def seldom(one: tuple[Kind, int]) -> tuple[int, int]:
            return -(new[one[0]] + new[one[1]] + (one not in met)), met[one]

        kind, layout = min((one for one in self._order if one[0] in kinds), key=seldom)
        met.update([(kind, layout), *((what, fact) for what in (kind, layout) for fact in facts)])
        return kind, layout

    @staticmethod
    def _facts(shape: Shape, half: bool, causal: bool) -> list[Fact]:
        queries = int(covering.remainder_class(shape.n_q, shape.Br))
        keys = int(covering.remainder_class(shape.n_k, shape.Bc))
        return [("queries", queries), ("keys", keys), ("half", half), ("causal", causal), ("heads", shape.heads > 1)]


class BiasMaker(CaseMaker):
    """Makes the cases of both kernels, each with a bias of its own."""

    def __init__(self, draw: Draw, attention: Kernel, gradient: Kernel) -> None:
        super().__init__(draw, self._attention)
        self._kernels = attention, gradient
        self._kinds, self._layouts = Kinds(draw.case("kinds of bias")), Kinds(draw.case("layouts of bias"))

    def of_inputs(self, name: str, proves: Proves, shape: Shape, inputs: Inputs, **how: Any) -> Case:
        """Return a launch of attention on these inputs."""
        return self._attention(name, proves, shape, inputs, **how)

    def gradient(
        self,
        name: str,
        proves: Proves,
        shape: Shape,
        dtype: npt.DTypeLike = np.float32,
        hard: bool = False,
        once: bool = False,
        unit_scale: bool = False,
        layout: int | None = None,
    ) -> Case:
        """Return a launch of the second kernel, on normal inputs or on queries of every kind."""
        random = self.random(f"dbias {name} {shape.n_q} {shape.n_k}")
        factor = drawn_factor(self.sizes, dtype) if name.startswith(EVERY) else 1.0
        inputs = hard_inputs(random, shape, dtype) if hard else normal_inputs(random, shape, dtype, factor, unit_scale)
        do = as_type(random.normal(0.0, 1.0, inputs.q.shape), dtype)
        return self.gradient_of(name, proves, shape, inputs, do, once, layout)

    def gradient_of(
        self,
        name: str,
        proves: Proves,
        shape: Shape,
        inputs: Inputs,
        do: Array,
        once: bool = False,
        layout: int | None = None,
    ) -> Case:
        """Return a launch of the second kernel on these inputs."""
        _, drawn = self._layouts.of(shape, inputs.half, False, (OF_ALL_HEADS,))
        random = self.random(f"dbias {name} {shape.n_q} {shape.n_k}, bias")
        bias = drawn_bias(random, shape, inputs, OF_ALL_HEADS, drawn if layout is None else layout)
        return gradient_launch(self._kernels[1], name, proves, shape, inputs, bias, do, once)

    def far_rows_of_attention(self) -> list[Case]:
        """Return launches with far rows: of Q and K, and of the bias by queries or by keys."""
        return [self.far_rows(causal=True, layout=DENSE), self.far_rows(layout=TRANSPOSED)]

    def far_rows_of_gradient(self) -> list[Case]:
        """Return the same launches of the second kernel."""
        shape = LONG.with_far_rows(self.random("far rows"))
        made = [self.gradient(FAR_ROWS, "far-offsets", shape, layout=layout) for layout in (DENSE, TRANSPOSED)]
        return [sampled(case, (0, 4), (0, 4)) for case in made]

    def gradient_of_class(self, c: Chosen, proves: str) -> Case:
        """Return a launch of the second kernel that the design asks for."""
        return self.gradient(c.name, c.proves(proves), c.shape, c.dtype, once=True, unit_scale=c.unit_scale)

    def _attention(
        self,
        name: str,
        proves: Proves,
        shape: Shape,
        inputs: Inputs,
        causal: bool = False,
        once: bool = False,
        kind: Kind | None = None,
        layout: int | None = None,
        level: float = 0.0,
    ) -> Case:
        far = shape.strides("q")[0] >= FAR_APART
        kinds = (kind,) if kind is not None else OF_FAR_HEADS if far else (FULL,) if shape.far_row else KINDS
        chosen, drawn = self._kinds.of(shape, inputs.half, causal, kinds)
        random = self.random(f"{name} {shape.n_q} {shape.n_k} {causal}, bias")
        bias = drawn_bias(random, shape, inputs, chosen, drawn if layout is None else layout, level)
        return attention_launch(self._kernels[0], name, proves, shape, inputs, bias, causal, once)


def bias_of_a_point(random: np.random.Generator, shape: Shape, inputs: Inputs, kinds: tuple[Kind, ...]) -> Bias:
    """Return a bias for the launch of a point: its values are as large as the scores, its rows as far apart as those
    of Q.

    The latter where they are longer than the row.
    """
    kind = kinds[int(random.integers(len(kinds)))]
    bias = drawn_bias(random, shape, inputs, kind, int(random.choice(LAYOUTS)))
    s = inputs.scale * (inputs.q[:1].astype(np.float64) @ inputs.k[:1].astype(np.float64).swapaxes(1, 2))[0]
    most = 6e4 if inputs.half else np.inf
    values = np.resize(s.ravel()[::-1], bias.values.shape).clip(-most, most).astype(bias.values.dtype)
    head, row, key = bias.strides
    wider = shape.strides("q")[1]
    if kind[1] and kind[2] and key == 1 and wider >= shape.n_k:
        head, row = (head and max(head, wider * shape.n_q)), wider
    return Bias(values, (head, row, key))
