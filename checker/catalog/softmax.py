"""What puzzles about a row-wise softmax share: how rows are laid out, the reference, the tolerance.

All of them get `x_ptr` and `y_ptr`, shape (rows, n_cols), with a row stride each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.puzzle import Array, Budget, Case, Expected, Invariant, Outputs, Role, Tensor

EPS32 = float(np.finfo(np.float32).eps)


def tensors(x: Array, x_stride: int, y_stride: int) -> dict[str, Tensor]:
    """The two arguments of a softmax kernel; strides between rows in elements."""
    return {
        "x_ptr": Tensor(x, (x_stride, 1)),
        "y_ptr": Tensor(np.full_like(x, np.nan), (y_stride, 1), Role.OUTPUT),
    }


def row_input(case: Case) -> Array:
    """The case's x in float64, shape (rows, n_cols)."""
    return case.tensors["x_ptr"].values.astype(np.float64)


def softmax(x: Array) -> Array:
    """Softmax over the last axis in the precision of `x`."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def expected(case: Case) -> Mapping[str, Expected]:
    """The softmax of x, and what a right kernel in fp32 may differ by.

    An exponential of a rounded argument x errs by about |x|·eps, hence the tolerance grows with the
    largest finite |x| of a row; then two roundings to the output's type, and its smallest step.
    """
    x = row_input(case)
    out = np.finfo(case.tensors["y_ptr"].values.dtype)
    values = softmax(x)
    magnitude = np.max(np.abs(x), axis=-1, keepdims=True, where=np.isfinite(x), initial=0.0)
    relative = EPS32 * (16 + 4 * magnitude) + 2 * float(out.eps)
    smallest = float(out.smallest_subnormal) if out.bits < 32 else 1e-30
    return {"y_ptr": Expected(values, values * relative + smallest)}


def budget(sweeps: int) -> Callable[[Case], Mapping[str, Budget]]:
    """Traffic of a softmax that reads x `sweeps` times and writes y once."""

    def of(case: Case) -> Mapping[str, Budget]:
        elements = case.tensors["x_ptr"].values.size
        return {"x_ptr": Budget(loads=sweeps * elements), "y_ptr": Budget(stores=elements)}

    return of


def _rows_not_one(case: Case, outputs: Outputs) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    y = outputs["y_ptr"].astype(np.float64)
    out = np.finfo(outputs["y_ptr"].dtype)
    slack = y.shape[-1] * float(out.eps) + 4 * float(np.max(expected(case)["y_ptr"].tolerance))
    return np.asarray(np.abs(y.sum(axis=-1) - 1.0) > slack)


ROWS_SUM_TO_ONE = Invariant(
    id="rows-do-not-sum-to-one",
    title="The rows do not sum to 1",
    explanation="A softmax is a probability distribution: each row of y must sum to 1.",
    broken=_rows_not_one,
)


def writes(formula: Callable[[Array, Case], Array]) -> Callable[[Case], dict[str, Array]]:
    """Outputs of a kernel that writes `formula(x, case)` to y; x in float64."""
    return lambda case: {"y_ptr": formula(row_input(case), case)}
