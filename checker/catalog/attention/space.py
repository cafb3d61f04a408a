"""Launches of attention as points: queries, keys, heads, strides, blocks, one number in each of Q and V, the scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from checker.catalog.attention.launch import Shape, sampled
from checker.catalog.attention.values import Inputs, normal_inputs
from checker.course.case import Case
from checker.course.space import FEW, HALF, TYPES, Ints, Numbers, Space, power, some

Launch = Callable[[str, str, Shape, Inputs, Mapping[str, int], Generator], Case]
"""(kernel, name, shape, inputs, what is drawn besides, random numbers for what else is needed) → the launch."""
MOST, LARGEST = 60_000, 1e4
SIZES = ("n_q", "n_k", "D", "Br", "Bc", "heads")
GAPS = ("q_gap", "q_head_gap", "k_gap", "k_head_gap")
# Each extent of this launch's grid says what it counts: 64 queries in 4 tiles, 3 tiles of keys, 2 heads, 6 splits.
COUNTED, CUT = Shape(64, 48, 16, 16, 16, 2), {"CAUSAL": 1, "keys_per_split": 8, "splits": 5}
NUMBERS = {"q_ptr": (-LARGEST, LARGEST), "k_ptr": (1.0, 1.0), "v_ptr": (-100.0, 100.0), "scale": (0.05, 1.0)}


def spaces(
    launch: Launch, proves: Mapping[str, str], masks: tuple[int, ...] = (1,), **more: tuple[int, int]
) -> dict[str, Space]:
    """Return the spaces of kernels. `masks`: 0 is full, and 1 what the puzzle has; `more`: other sizes."""
    sizes = {"n_q": (1, MOST), "n_k": (1, MOST), "heads": (1, 4_000), **dict.fromkeys(GAPS, (0, MOST)), **more}
    blocks = {"D": (16, 16, 16, 32, 64, 128, 256), "Br": (16, 16, 32, 64, 128), "Bc": (16, 16, 32, 64, 128)}
    choices = {**blocks, "CAUSAL": masks, "half": HALF}
    return {
        kernel: Space(of, sizes, choices, NUMBERS, partial(_arguments, launch, kernel), partial(_case, launch, kernel))
        for kernel, of in proves.items()
    }


def _arguments(launch: Launch, kernel: str, at: Mapping[str, Ints]) -> dict[str, Any]:
    n_q, n_k, D, Br, Bc, heads = (at[name] for name in SIZES)
    if "keys_per_split" in at:  # a program has all queries
        Br = power(np.maximum(n_q, 16))
    tr, tc, one, causal = -(-n_q // Br), -(-n_k // Bc), np.ones_like(n_q), at["CAUSAL"] == 1
    splits = -(-n_k // at["keys_per_split"]) if "keys_per_split" in at else at.get("splits", one)
    random = np.random.default_rng(0)
    grid = launch(kernel, "", COUNTED, normal_inputs(random, COUNTED), CUT, random).grid
    along = {4: tr, 3: tc, 2: heads, 6: splits, 64: n_q}
    unseeing = np.where(causal, np.maximum(n_q - n_k, 0), 0)  # the first so many queries see no key
    first = {4: unseeing // Br, 64: unseeing}
    run = np.minimum(heads, FEW) * np.minimum(tr * tc, FEW * np.maximum(tr, tc)) + splits * heads
    q, k = (one, heads, n_q, D), (one, heads, n_k, D)
    rows = {"q": D + at["q_gap"], "k": D + at["k_gap"]}
    strides = {f"{x}_row_stride": row for x, row in rows.items()}
    strides |= {f"{x}_head_stride": at[f"n_{x}"] * row + at[f"{x}_head_gap"] for x, row in rows.items()}
    shapes = {"q": q, "k": k, "v": k, "o": q, "do": q, "lse": q[:3]}
    blocks = {"Br": Br, "Bs": power(splits), "CAUSAL": causal, "causal": causal}
    programs = tuple((along.get(extent, one), first.get(extent, 0 * one)) for extent in grid)
    cost = heads * (n_q * n_k + (n_q * splits + n_k) * D) + run * (2000 + Br * Bc * D // 100)
    return {**at, **strides, **shapes, **blocks, "programs": programs, "cost": cost}


def _case(launch: Launch, kernel: str, name: str, at: Mapping[str, int], numbers: Numbers, random: Generator) -> Case:
    n_q, n_k, D, Br, Bc, heads, q_row, q_head, k_row, k_head = (at[name] for name in (*SIZES, *GAPS))
    shape = Shape(n_q, n_k, D, Br, Bc, heads, (q_row, q_head), (k_row, k_head))
    inputs = replace(normal_inputs(random, shape, TYPES[at["half"]]), scale=numbers["scale"])
    for values, key in zip((inputs.q, inputs.k, inputs.v), NUMBERS, strict=False) if "q_ptr" in numbers else ():
        values[:] = 0.0
        values[..., 0] = numbers[key]
    made = launch(kernel, name, shape, inputs, at, random)
    chosen = [some(extent, at[f"program{axis}"]) for axis, extent in enumerate(made.grid)]
    if not any(chosen):
        return made
    programs = [one or range(extent) for one, extent in zip(chosen, made.grid, strict=True)]
    whole = len(programs) == 1 or at.keys() & {"splits", "keys_per_split"}  # a head is run as a whole
    return sampled(made, None if whole else programs[0], programs[-1])
