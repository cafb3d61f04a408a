"""The judge's attention, forward and backward, against automatic differentiation and finite differences."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.catalog import p5_flash_attention_1 as p5
from checker.catalog.attention import dropped as dropout
from checker.catalog.attention import reference as attention
from checker.catalog.attention import values
from checker.catalog.attention.backward import gradients as backward
from checker.catalog.attention.bias.gradient import expected_gradient
from checker.catalog.attention.launch import Shape, shape_of, tensors, wide
from checker.course.case import Array, Case
from checker.sandbox.protocol.philox import rand
from tests.conftest import importable

ATTENTION = ("a3", "p5", "p6", "p7", "b1", "b2")


KEYS = ("practice", "autumn")


def cases(puzzle_id: str, key: str = "practice", output: str = "") -> list[Case]:
    """The cases of a puzzle that have an output, or any."""
    puzzle = catalog.load(puzzle_id)
    every = [case for case in puzzle.cases(puzzle.draw(key)) if not case.checked_arithmetic]
    return [case for case in every if not output or output in case.tensors]


def compare(actual: Array, expected: Array, case: Case, rtol: float, atol: float = 0.0) -> None:
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=f"{case.kernel}: {case.name}")


def agree_as_gradients(actual: Array, expected: Array, case: Case) -> None:
    compare(actual, expected, case, rtol=1e-9, atol=1e-9 * float(np.abs(expected).max()) + 1e-12)


def plain_forward(case: Case) -> tuple[Array, Array]:
    """O and LSE by the definition, one query after the other."""
    q, k, v = (wide(case, name) for name in "qkv")
    o, lse = np.zeros(q.shape), np.full(q.shape[:2], -np.inf)
    biases = np.broadcast_to(attention.bias(case), (*q.shape[:2], k.shape[1]))
    for head, query in np.ndindex(q.shape[:2]):
        keys = slice(max(query + k.shape[1] - q.shape[1] + 1, 0) if attention.is_causal(case) else None)
        s = case.scalars["scale"] * (k[head, keys] @ q[head, query]) + biases[head, query, keys]
        if len(s):
            lse[head, query] = np.logaddexp.reduce(s)
            weights = np.exp(s - s.max())  # of scores around 1e12, a LSE has too few digits for them
            o[head, query] = weights / weights.sum() @ v[head, keys]
    return o, lse


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("puzzle_id", ["a3", "p5", "p6", "b1"])
def test_the_forward_reference_is_the_definition(puzzle_id: str, key: str) -> None:
    for case in cases(puzzle_id, key, "o_ptr"):
        expected = attention.expected(case)
        o, lse = plain_forward(case)
        compare(expected["o_ptr"].values, o, case, rtol=1e-8, atol=1e-10)
        if "lse_ptr" in expected:
            compare(expected["lse_ptr"].values, lse, case, rtol=1e-12)
        elif "m_ptr" in expected:
            m, l = expected["m_ptr"].values, expected["l_ptr"].values
            compare(m + np.log(l), lse, case, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "dtypes"),
    [
        (values.rising_scores, [(np.float16,), (np.float32,)]),
        (values.scores_far_below, [()]),
        (values.long_sums, [()]),
    ],
)
def test_a_score_added_up_term_by_term_is_within_what_is_allowed(
    make: Any, dtypes: list[tuple[type[Any], ...]]
) -> None:
    """Of values with one large term: all others are rounded when they are added to it, some all in one direction."""
    shape = Shape(24, 160, 64, 16, 64)
    for seed, dtype in itertools.product(range(60), dtypes):
        case = p5.launch("made", (), shape, make(np.random.default_rng(seed), shape, *dtype))
        q, k = (wide(case, name).astype(np.float32) for name in "qk")
        added = np.zeros((1, 24, 160), np.float32)
        for d in range(64):
            added += q[:, :, None, d] * k[:, None, :, d]
        off = np.abs(np.float32(case.scalars["scale"]) * added - attention.scores(case))
        assert np.all(off <= 1.5 * attention.score_error(case))


def with_exact_by_products(case: Case) -> Case:
    """The case with LSE and delta in float64, so that nothing but the formulas is compared."""
    right = attention.forward(np.where(attention.sees(case), attention.scores(case), -np.inf), wide(case, "v"))
    delta = (right.o * wide(case, "do")).sum(axis=-1)
    exact = tensors(shape_of(case), {"lse": right.lse, "delta": delta})
    return Case(
        case.name, case.kernel, case.proves, case.grid, {**case.tensors, **exact}, case.scalars, case.constexprs
    )


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("output", ["dq_ptr", "dk_ptr"])
def test_the_backward_reference_is_the_derivative(output: str, key: str) -> None:
    torch = importable("torch")
    for case in cases("p7", key, output):
        q, k, v = (torch.tensor(wide(case, name), requires_grad=True) for name in "qkv")
        seen = attention.sees(case)
        s = float(case.scalars["scale"]) * q @ k.transpose(1, 2)
        # Queries without keys are left out: softmax has no value there, and they add nothing to any gradient.
        rows = torch.tensor(seen.any(axis=1))
        p = torch.softmax(s.masked_fill(~torch.tensor(seen), -torch.inf)[:, rows], dim=-1)
        (p @ v).backward(torch.tensor(wide(case, "do"))[:, rows])
        exact = backward.expected(with_exact_by_products(case))
        for name, grown in {"dq_ptr": q.grad, "dk_ptr": k.grad, "dv_ptr": v.grad}.items():
            if name in exact:
                agree_as_gradients(exact[name].values, grown.numpy(), case)


@pytest.mark.parametrize("key", KEYS)
def test_the_gradient_of_a_bias_is_the_derivative(key: str) -> None:
    """Of a bias that all heads share, from the LSE and the delta of the same attention."""
    for case in cases("b1", key, "dbias_ptr"):
        check_gradient_of_bias(case)


def check_gradient_of_bias(case: Case) -> None:
    torch = importable("torch")
    q, k, v, b = (torch.tensor(wide(case, name)) for name in ("q", "k", "v", "bias"))
    b.requires_grad_()
    s = float(case.scalars["scale"]) * q @ k.transpose(1, 2) + b
    (torch.softmax(s, dim=-1) @ v).backward(torch.tensor(wide(case, "do")))
    exact = expected_gradient(with_exact_by_products(case))["dbias_ptr"].values
    agree_as_gradients(exact, b.grad.numpy(), case)


def one_by_one(case: Case) -> Array:
    """Z by the lesson's rule, entry by entry."""
    p, seed, q = case.scalars["p"], int(case.scalars["seed"]), case.tensors["q_ptr"]
    heads, n_q, n_k = *q.values.shape[:2], case.tensors["k_ptr"].values.shape[1]
    apart = q.strides[0] // int(case.scalars["q_head_stride"])
    z = np.zeros((heads, n_q, n_k))
    for head, i, j in np.ndindex(z.shape):
        at = (int(head * apart) * n_q + i) * n_k + j
        z[head, i, j] = 0.0 if rand(seed, np.array([at], np.int64))[0] < np.float32(p) else 1 / (1 - p)
    return z


def small(case: Case) -> bool:
    shape = shape_of(case)
    return shape.heads * shape.n_q * shape.n_k < 3000


@pytest.mark.parametrize("key", KEYS)
def test_the_reference_with_dropout_is_the_definition(key: str) -> None:
    for case in filter(small, cases("b2", key, "o_ptr")):
        check_dropout(case)


def check_dropout(case: Case) -> None:
    expected, z = attention.expected(case), one_by_one(case)
    s = attention.scores(case)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    o = (e / e.sum(axis=-1, keepdims=True) * z) @ wide(case, "v")
    compare(expected["o_ptr"].values, o, case, rtol=1e-8, atol=1e-10)
    compare(expected["lse_ptr"].values, np.logaddexp.reduce(s, axis=-1), case, rtol=1e-12)


@pytest.mark.parametrize("key", KEYS)
def test_the_gradients_with_dropout_are_the_derivative(key: str) -> None:
    """Which also proves that delta is rowsum(dO * O) still: PyTorch knows nothing of it."""
    for case in filter(small, cases("b2", key, "dv_ptr")):
        check_gradients_with_dropout(case)


def check_gradients_with_dropout(case: Case) -> None:
    torch = importable("torch")
    z = torch.tensor(one_by_one(case))
    q, k, v = (torch.tensor(wide(case, name), requires_grad=True) for name in "qkv")
    s = float(case.scalars["scale"]) * q @ k.mT
    o = (torch.softmax(s, dim=-1) * z) @ v
    o.backward(torch.tensor(wide(case, "do")))
    rows = {"lse": torch.logsumexp(s, dim=-1), "delta": (o * torch.tensor(wide(case, "do"))).sum(dim=-1)}
    exact = tensors(shape_of(case), {name: values.detach().numpy() for name, values in rows.items()})
    made = backward.expected(replace(case, tensors={**case.tensors, **exact}))
    for name, grown in {"dk_ptr": k.grad, "dv_ptr": v.grad}.items():
        agree_as_gradients(made[name].values, grown.numpy(), case)


def test_p_and_seed_are_of_every_kind() -> None:
    """p of 0, small, 0.1, one half and more; seeds within 32 bits and beyond; an entry whose number is p."""
    every = catalog.load("b2")
    for key in ("practice", "autumn"):
        for kernel in every.kernels:
            own = [case for case in every.cases(every.draw(key)) if case.kernel == kernel.name]
            ps = [float(case.scalars["p"]) for case in own]
            assert 0.0 in ps and 0.5 in ps and float(np.float32(0.1)) in ps and min(p for p in ps if p) < 0.05
            assert any(0.55 < p < 0.9 for p in ps)
            seeds = [int(case.scalars["seed"]) for case in own]
            for low, high in ((0, 2**31), (2**31, 2**32), (2**32, 2**63)):
                assert sum(low <= seed < high for seed in seeds) >= 4
            [exact] = [case for case in own if "whose number is p" in case.name]
            assert (dropout.drawn(exact) == np.float32(exact.scalars["p"])).sum() == 1
            [far] = [case for case in own if "beyond 2**32" in case.name]
            assert dropout.offsets(far)[-1].min() > 2**32 and far.grid[1] == 65535
            assert not np.array_equal(*(dropout.factors(far)[head] for head in (0, 2)))


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_the_backward_reference_agrees_with_finite_differences(name: str) -> None:
    kernel = "dq_kernel" if name == "q" else "dk_dv_kernel"
    case = next(c for c in cases("p7") if c.kernel == kernel and "more keys" in c.name)
    gradient = backward.expected(with_exact_by_products(case))[f"d{name}_ptr"].values
    do, seen, scale = wide(case, "do"), attention.sees(case), float(case.scalars["scale"])
    values = {n: wide(case, n) for n in "qkv"}

    def loss(change: float, at: tuple[int, ...]) -> float:
        moved = {n: x.copy() for n, x in values.items()}
        moved[name][at] += change
        s = np.where(seen, scale * (moved["q"] @ moved["k"].swapaxes(1, 2)), -np.inf)
        return float((attention.forward(s, moved["v"]).o * do).sum())

    random = np.random.default_rng(7)
    for _ in range(25):
        at = tuple(int(random.integers(extent)) for extent in values[name].shape)
        slope = (loss(1e-5, at) - loss(-1e-5, at)) / 2e-5
        assert gradient[at] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("puzzle_id", ATTENTION)
@pytest.mark.parametrize("key", ["practice", "autumn", "winter", "spring"])
def test_cases_hold_what_the_judge_relies_on(puzzle_id: str, key: str) -> None:
    puzzle = catalog.load(puzzle_id)
    every = puzzle.cases(puzzle.draw(key))
    assert {p for case in every for p in case.proves} == {p.name for p in puzzle.properties}
    for case in every:
        shape = shape_of(case)
        hidden = not attention.sees(case).any(axis=1).all()
        assert hidden == ("hidden-queries" in case.proves) or ("o_ptr" in case.tensors and puzzle_id == "p7"), case.name
        if hidden and case.informative:
            assert (shape.n_q - shape.n_k) % shape.Br, "at a multiple of Br the usual bug gives no NaN"
        if "q_ptr" in case.tensors and case.informative:
            sigma = np.where(np.isfinite(s := attention.scores(case)), s, 0).std()
            assert sigma > 1, "scores too alike: a kernel that never rescales would pass"
            assert abs(float(case.scalars["scale"]) - shape.D**-0.5) > 0.05 * shape.D**-0.5
        for name, expected in puzzle.expected(case).items():
            finite = np.isfinite(expected.values)
            assert np.isfinite(expected.tolerance).all(), (case.name, name)
            if not case.informative:
                continue  # with one key P is 1, for instance, and the gradients of Q and K are nothing but rounding
            size = np.abs(expected.values[finite]).max()
            assert np.median(expected.tolerance) < 0.03 * size, (case.name, name)
    blocks = {(case.constexprs["Br"], case.constexprs.get("Bc", 0)) for case in every}
    assert any(br > bc > 0 for br, bc in blocks)
    assert any(bc > br for br, bc in blocks)


@pytest.mark.parametrize("puzzle_id", ATTENTION)
def test_a_reference_rounded_to_the_output_type_is_right(puzzle_id: str) -> None:
    """The tolerance is never below what rounding the exact result costs."""
    puzzle = catalog.load(puzzle_id)
    for case in puzzle.cases(puzzle.draw()):
        for name, expected in puzzle.expected(case).items():
            rounded = expected.values.astype(case.tensors[name].values.dtype).astype(np.float64)
            with np.errstate(invalid="ignore"):
                close = (np.abs(rounded - expected.values) <= expected.tolerance) | (rounded == expected.values)
            assert close.all(), (case.name, name)
