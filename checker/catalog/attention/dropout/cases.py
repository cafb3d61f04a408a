"""Cases of attention with dropout: p and seed of every kind, an entry whose number is p, positions beyond 2**32."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from checker.catalog.attention.backward.gradients import given, given_all, launch_given
from checker.catalog.attention.dropped import numbers, positions, scaled
from checker.catalog.attention.forward.cases import FAR_HEADS, FAR_ON_GPU, LARGE, NARROW, PICTURED, CaseMaker
from checker.catalog.attention.launch import Proves, Shape, launch, sampled, tensors, unwritten
from checker.catalog.attention.reference import forward, sees
from checker.catalog.attention.values import Inputs, in_bf16, normal_inputs
from checker.course.case import Array, Case, Role, as_bf16, blank
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw, Pictured

HEADS_APART = 32767  # the third head is then number 65534, the last that a grid can have but one
SEEDS = 2**63  # they are below that


@dataclass(frozen=True)
class Dropout:
    """Arguments for dropout: p, which fp32 can hold, and a seed."""

    p: float
    seed: int

    @property
    def arguments(self) -> dict[str, int | float]:
        """By parameter."""
        return {"p": self.p, "seed": self.seed}

    def factors(self, shape: Shape, heads: tuple[int, ...] = ()) -> Array:
        """Z of a launch, whose heads have these numbers; none: they follow one another."""
        at = positions(heads or tuple(range(shape.heads)), shape.n_q, shape.n_k)
        return scaled(numbers(self.seed, at) >= np.float32(self.p), self.p)


class Dropouts:
    """p and seed of one launch after the other: of every kind, and of every pair of kinds in twenty."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random, self._count = random, 0

    def next(self) -> Dropout:
        """Return those of the next launch."""
        random, n = self._random, self._count
        self._count += 1
        p = (0.5, random.uniform(0.15, 0.45), 0.1, random.uniform(0.55, 0.85), random.uniform(0.01, 0.05))[n % 5]
        low, high = ((2, 100), (100, 2**31), (2**31, 2**32), (2**32, SEEDS))[n % 4]
        return Dropout(float(np.float32(p)), int(random.integers(low, high)))


def forward_launch(
    kernel: Kernel, name: str, proves: Proves, shape: Shape, inputs: Inputs, dropout: Dropout, once: bool = False
) -> Case:
    """Return one forward launch: a program per head and tile of queries."""
    outputs = {"o": unwritten(inputs.q, inputs.q.dtype), "lse": unwritten(inputs.q[..., 0], np.float32)}
    arguments = inputs.tensors(shape) | tensors(shape, outputs, Role.OUTPUT, inputs.kinds, inputs.bf16)
    grid = shape.tr, shape.heads
    return launch(kernel, name, proves, shape, arguments, inputs.scale, grid, None, once, **dropout.arguments)


def backward_launch(
    kernel: Kernel,
    name: str,
    proves: Proves,
    shape: Shape,
    inputs: Inputs,
    dropout: Dropout,
    do: Array,
    once: bool = False,
    heads: tuple[int, ...] = (),
) -> Case:
    """Return one launch for dK and dV, with LSE and delta from the judge; `heads`: their numbers,
    if some are left out.
    """
    right = given(shape, inputs, as_bf16(do) if inputs.bf16 else do, dropout.factors(shape, heads))
    return launch_given(kernel, name, proves, right, once, **dropout.arguments)


def timed_backward(kernel: Kernel, shape: Shape, inputs: Inputs, dropout: Dropout) -> Case:
    """Return a launch for dK and dV whose tensors have shapes, but no memory."""
    rows = blank((shape.heads, shape.n_q), np.float32)
    right = given_all(shape, inputs, inputs.q, inputs.q, rows, rows)
    return launch_given(kernel, "timed", (), right, False, **dropout.arguments)


def drawn_do(random: np.random.Generator, inputs: Inputs) -> Array:
    """dO, with a row that holds one number throughout: it is a row like any other."""
    do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(inputs.q.dtype)
    do[:, int(random.integers(do.shape[1]))] = 0.5
    return do


class DropoutCaseMaker(CaseMaker):
    """Makes the cases of one of the two kernels."""

    def __init__(self, draw: Draw, kernel: Kernel) -> None:
        super().__init__(draw, self.with_next)
        self.kernel, self.dropouts = kernel, Dropouts(draw.case(f"{kernel.name}: p and seed"))

    @property
    def backward(self) -> bool:
        """Whether it is the kernel for dK and dV."""
        return "do_ptr" in self.kernel.parameters

    def launched(
        self,
        name: str,
        proves: Proves,
        shape: Shape,
        inputs: Inputs,
        dropout: Dropout,
        do: Array | None = None,
        once: bool = False,
        heads: tuple[int, ...] = (),
    ) -> Case:
        """Return a launch on these inputs; dO is drawn if it is not given."""
        if not self.backward:
            return forward_launch(self.kernel, name, proves, shape, inputs, dropout, once)
        if do is None:
            do = drawn_do(self.random(f"dO {name} {shape.n_q} {shape.n_k}"), inputs)
        return backward_launch(self.kernel, name, proves, shape, inputs, dropout, do, once, heads)

    def with_next(
        self, name: str, proves: Proves, shape: Shape, inputs: Inputs, once: bool = False, p: float | None = None
    ) -> Case:
        """Return a launch with the next p and seed, or with this p."""
        dropout = self.dropouts.next()
        dropout = dropout if p is None else replace(dropout, p=p)
        return self.launched(name, proves, shape, inputs, dropout, once=once)

    def exactly(self, name: str, proves: Proves, shape: Shape) -> Case:
        """Return a launch whose p is the number of one entry, which is therefore kept: of one that weighs much."""
        dropout, inputs = self.dropouts.next(), normal_inputs(self.random(name), shape)
        at = numbers(dropout.seed, positions(tuple(range(shape.heads)), shape.n_q, shape.n_k))
        q, k, v = (x.astype(np.float64) for x in (inputs.q, inputs.k, inputs.v))
        weights = forward(inputs.scale * (q @ k.swapaxes(1, 2)), v).p
        middle = np.where((at > 0.1) & (at < 0.6), weights, 0.0)
        exact = Dropout(float(at.flat[int(middle.argmax())]), dropout.seed)
        return self.launched(name, proves, shape, inputs, exact, once=True)

    def far_positions(self, name: str, proves: Proves) -> Case:
        """Three heads of 65535, of which the last has positions beyond 2**32: one tile along one of the sides."""
        few, many = 64, 1034 + self.some()  # few enough numbers for a diagnosis to compare models with
        n_q, n_k, Br, Bc = (many, few, 128, 64) if self.backward else (few, many, 64, 128)
        gaps = [(int(self.sizes.integers(1, 8)), int(self.sizes.integers(64))) for _ in range(2)]
        shape = Shape(n_q, n_k, 16, Br, Bc, 3, *gaps)  # so near that 32 bits do for addresses
        heads = tuple(head * HEADS_APART for head in range(3))
        inputs = normal_inputs(self.random(name), shape)
        dropout = replace(self.dropouts.next(), p=0.5)
        case = self.launched(name, proves, shape, inputs, dropout, once=True, heads=heads)
        return _of_heads_apart(sampled(case, None, range(3)), HEADS_APART)

    def large_cases(self, proves: str) -> list[Case]:
        """For a GPU: a thousand queries and keys, a wide head, bf16; heads far apart; an entry whose number is p."""

        def case(name: str, shape: Shape, of: str, bf16: bool = False) -> Case:
            inputs = normal_inputs(self.random(name), shape, np.float32 if bf16 else np.float16)
            return self.with_next(name, of, shape, in_bf16(inputs) if bf16 else inputs)

        return [
            case("a thousand keys", LARGE, proves),
            case("bf16", NARROW, "half", bf16=True),
            case("far heads", FAR_HEADS, "far-offsets"),
            case("far rows", FAR_ON_GPU, "far-offsets"),
            self.exactly("an entry whose number is p", "positions", self.shape(23, 39)),
        ]


def _of_heads_apart(case: Case, apart: int) -> Case:
    """Return the launch with its heads so many numbers apart; there are no tensors of those
    between, and no programs.
    """
    tiles, heads = case.grid
    named = tuple(f"number {head * apart} of the grid" for head in range(heads))
    moved = {
        name: replace(
            tensor,
            strides=(apart * tensor.strides[0], *tensor.strides[1:]),
            axes=(replace(tensor.axes[0], labels=named), *tensor.axes[1:]),
        )
        for name, tensor in case.tensors.items()
    }
    programs = tuple(program // tiles * apart * tiles + program % tiles for program in case.programs)
    sizes = case.sizes.replace(f"{heads} heads", f"{heads} of {(heads - 1) * apart + 1} heads", 1)
    grid = tiles, (heads - 1) * apart + 1
    return replace(case, tensors=moved, grid=grid, programs=programs, sizes=sizes)


def pictured(kernels: tuple[Kernel, ...]) -> Pictured:
    """For pictures: four by four tiles, of each kernel."""

    def cases(draw: Draw) -> list[Case]:
        inputs = normal_inputs(draw.case("pictured"), PICTURED)
        makers = [DropoutCaseMaker(draw, kernel) for kernel in kernels]
        return [make.with_next("four by four tiles", (), PICTURED, inputs) for make in makers]

    return Pictured(cases, sees=sees)
