"""Variants of random Q, K, V and dO: numbers that a function may take for something else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checker.catalog.attention.values import Inputs
from checker.course.case import Array


def as_drawn(drawn: Inputs, do: Array) -> tuple[Inputs, Array]:
    """Nothing."""
    return drawn, do


def small_do(drawn: Inputs, do: Array) -> tuple[Inputs, Array]:
    """Return a dO that is small, and not 0."""
    return drawn, do * 1e-7


def no_do(drawn: Inputs, do: Array) -> tuple[Inputs, Array]:
    """Return a dO of 0 for the first head."""
    return drawn, np.where(np.arange(len(do))[:, None, None] == 0, 0.0, do)


def large_scores(drawn: Inputs, do: Array) -> tuple[Inputs, Array]:
    """Return all scores of a query around 2e5, or around -2e5: a start of the maximum that only looks like -inf is
    above.
    """
    q, k = drawn.q.copy(), drawn.k.copy()
    q[..., 0], k[..., 0] = np.resize([2e5, -2e5], q.shape[1]) / drawn.scale, 1.0
    return replace(drawn, q=q, k=k), do


def rising_scores(drawn: Inputs, do: Array) -> tuple[Inputs, Array]:
    """Return scores that rise to 7.8e5 whatever n_k is: a mask of -1e5 does not hide these, and CS336's -1e6 does."""
    q, k = drawn.q.copy(), drawn.k.copy()
    q[..., 0], k[..., 0] = 2e4 / drawn.scale, np.linspace(0.0, 39.0, k.shape[1])
    return replace(drawn, q=q, k=k), do


def large_v(drawn: Inputs, do: Array) -> tuple[Inputs, Array]:
    """Return a V beyond fp16."""
    return replace(drawn, v=drawn.v * 1e5), do
