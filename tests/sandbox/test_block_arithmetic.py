"""Arithmetic in the sandbox's log: sums in half, and products element by element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.records import IN_DOT, IN_LOOP, IN_STORE, IN_SUM, LOSS, ON_THE_WAY, PRODUCT, STORE
from checker.sandbox.protocol.results import LaunchResult

HEADER = "@triton.jit\ndef {name}(x_ptr, h_ptr, y_ptr, n, SIDE: tl.constexpr):\n"
START = """\
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    x, h, m = tl.load(x_ptr + at), tl.load(h_ptr + at), tl.zeros((SIDE,), tl.float16)
    y, l = tl.zeros((SIDE, SIDE), tl.float32), tl.zeros((SIDE,), tl.float32)
    half = y.to(tl.float16)
"""
END = "    tl.store(y_ptr + at, y + l[:, None])\n"
LOOP = "    for step in range(0, 4):\n        "

SUMS = {
    # Right: only what is finished is rounded, or what goes into a product, or a maximum, which adds nothing up.
    "a_sum": ("    l += tl.sum(x, axis=1)\n", set()),
    "a_product_of_halves": ("    y = tl.dot(h, h, y)\n", set()),
    "rounded_once": ("    y = tl.dot(h, h)\n    tl.store(h_ptr + at, y.to(tl.float16))\n", set()),
    "p_rounded_for_its_product": (LOOP + "y += tl.dot(tl.exp(tl.dot(h, h) - 9.0).to(h.dtype), h)\n", set()),
    "scaled_in_half": (LOOP + "y += tl.dot((h * 0.5).to(tl.float16), h)\n", set()),
    "earlier_tile_kept_in_half": (LOOP + "y += tl.dot(half, h)\n        half = tl.dot(h, h).to(tl.float16)\n", set()),
    "exact_in_half": (
        "    half = tl.where(x > 0, 2.0, 0.25).to(tl.float16)\n    y = tl.exp((half * half - half).to(tl.float32))\n",
        set(),
    ),
    "rounded_for_two_products": (
        "    half = tl.exp(tl.dot(h, h)).to(h.dtype)\n    y = tl.dot(half, h) + tl.dot(tl.trans(half), h)\n",
        set(),
    ),
    "rounded_then_masked_and_stored": (
        "    half = tl.exp(x).to(h.dtype) * (x > 0).to(tl.float32)\n    tl.store(h_ptr + at, half)\n",
        set(),
    ),
    "mask_in_half": ("    y = tl.dot((x > 0).to(tl.float16), h)\n", set()),
    "larger_of_halves": ("    l = tl.exp(tl.max(tl.maximum(h, h * 2.0), axis=1).to(tl.float32))\n", set()),
    # Wrong.
    "sum_in_half": ("    l += tl.sum(h, axis=1)\n", {IN_SUM}),
    "sum_of_what_is_rounded": ("    l += tl.sum(x, axis=1, dtype=tl.float16)\n", {IN_SUM, ON_THE_WAY}),
    "dot_in_half": ("    y += tl.dot(h, h, out_dtype=tl.float16)\n", {IN_DOT}),
    "dot_onto_half": ("    y += tl.dot(h, h, half, out_dtype=tl.float16)\n", {IN_DOT}),
    "rounded_in_a_loop": (LOOP + "half = (half + tl.dot(h, h)).to(tl.float16)\n", {IN_LOOP, ON_THE_WAY}),
    "rounded_to_bf16": (LOOP + "y = (y + tl.dot(h, h)).to(tl.bfloat16).to(tl.float32)\n", {IN_LOOP, ON_THE_WAY}),
    "rescaled_in_a_loop": (LOOP + "half = (half * l[:, None] + tl.dot(h, h)).to(tl.float16)\n", {IN_LOOP, ON_THE_WAY}),
    "chosen_in_a_loop": (LOOP + "half = tl.where(x > 0, half + x, half).to(tl.float16)\n", {IN_LOOP, ON_THE_WAY}),
    "both_halves": (LOOP + "half += h\n", {IN_LOOP, ON_THE_WAY}),
    "product_rounded_and_added": (LOOP + "half += tl.dot(h, h).to(tl.float16)\n", {IN_LOOP, ON_THE_WAY}),
    "given_to_a_product": (LOOP + "half = tl.dot(h, h, half.to(tl.float32)).to(tl.float16)\n", {IN_LOOP, ON_THE_WAY}),
    "fused": (LOOP + "half = tl.fma(x, x, half.to(tl.float32)).to(tl.float16)\n", {IN_LOOP, ON_THE_WAY}),
    "summed_afterwards": (
        "    half += h\n    half = (half + x).to(tl.float16)\n    l = tl.sum(half.to(tl.float32), axis=1)\n",
        {IN_LOOP, ON_THE_WAY},
    ),
    "normaliser_in_half": (
        "    c = l.to(tl.float16)\n" + LOOP + "c = (c * 0.5 + tl.sum(x, axis=1)).to(tl.float16)\n",
        {IN_LOOP, ON_THE_WAY},
    ),
    "rounded_before_its_store": ("    y = tl.dot(h, h)\n    tl.store(x_ptr + at, y.to(tl.float16))\n", {IN_STORE}),
    "maximum_in_half": (
        LOOP + "m_new = tl.maximum(m, tl.max(tl.dot(h, h), axis=1).to(tl.float16))\n"
        "        l = l * tl.exp(m.to(tl.float32) - m_new.to(tl.float32)) + tl.sum(x - m_new[:, None], axis=1)\n"
        "        m = m_new\n    l = m + tl.log(l)\n",
        {ON_THE_WAY},
    ),
    "scores_rounded_then_summed": (
        LOOP + "l += tl.sum(tl.dot(h, h).to(tl.float16).to(tl.float32), axis=1)\n",
        {ON_THE_WAY},
    ),
    "rounded_and_added_once": (
        "    y = tl.exp((tl.dot(h, h).to(tl.float16) + (h - 8.0)).to(tl.float32))\n",
        {ON_THE_WAY},
    ),
    "exponent_in_half": ("    y = tl.exp((x - m[:, None]).to(tl.float16).to(tl.float32))\n", {ON_THE_WAY}),
    "difference_of_halves": (
        "    y = tl.exp((h - tl.max(h, axis=1).to(tl.float16)[:, None]).to(tl.float32))\n",
        {ON_THE_WAY},
    ),
    "multiplied_before_its_product": (
        "    half = tl.exp(x).to(tl.float16)\n    y = tl.dot((half * x).to(tl.float16), h)\n",
        {ON_THE_WAY},
    ),
    "divided_before_its_product": (
        "    half = tl.exp(x).to(tl.float16)\n    y = tl.dot(h, tl.trans((x / half).to(tl.float16)))\n",
        {ON_THE_WAY},
    ),
    "moved_before_its_sum": (
        "    half = tl.trans(tl.reshape(tl.exp(x).to(tl.float16), (SIDE, SIDE)))\n"
        "    y = tl.where(x > 0, half, 0.0).to(tl.float32) - x\n",
        {ON_THE_WAY},
    ),
    "largest_of_what_is_rounded": (
        "    l = tl.log(tl.max(tl.exp(x).to(tl.float16), axis=1).to(tl.float32))\n",
        {ON_THE_WAY},
    ),
    "larger_of_what_is_rounded": (
        "    y = tl.exp2(tl.maximum(tl.exp(x).to(tl.bfloat16).to(tl.float32), x))\n",
        {ON_THE_WAY},
    ),
    "product_of_bf16": ("    y = tl.dot(tl.exp(x).to(tl.bfloat16).to(tl.float16), h)\n", {ON_THE_WAY}),
    "one_row_for_all": (
        "    half = tl.max(tl.exp(x), axis=0).to(tl.float16)[None, :] * 0.3\n"
        "    y -= tl.broadcast_to(half, (SIDE, SIDE)).to(tl.float32)\n",
        {ON_THE_WAY},
    ),
    "fused_with_what_is_rounded": ("    y = tl.fma(tl.exp(x).to(tl.float16).to(tl.float32), x, y)\n", {ON_THE_WAY}),
    "a_product_onto_what_is_rounded": ("    y = tl.dot(h, h, tl.exp(x).to(tl.float16).to(tl.float32))\n", {ON_THE_WAY}),
}
PRODUCTS = {
    "of_tiles": ("    y = x * x / (x + 9.0)\n", 2 * 256),
    "outer": ("    y = tl.sum(x, axis=0)[None, :] * l[:, None]\n", 256),
    "of_vectors": ("    l = l * tl.sum(x, axis=1) * 0.5\n", 0),
    "of_columns": ("    l = tl.sum(tl.sum(x, axis=1, keep_dims=True) * 2.0, axis=1)\n", 0),
    "of_offsets": ("    at = at * 1\n", 0),
    "fused_product": ("    y = tl.fma(x, x, y)\n", 256),
    "of_three_axes": ("    y = tl.sum(x[:, :, None] * x[:, None, :], axis=1)\n", 4096),
}


@pytest.fixture(scope="module")
def logs() -> Iterator[dict[str, LaunchResult]]:
    bodies = {name: body for name, (body, _) in (SUMS | PRODUCTS).items()}
    source = "\n\n".join(HEADER.format(name=name) + START + body + END for name, body in bodies.items())
    x = np.random.default_rng(1).normal(1.0, 1.0, (16, 16)).astype(np.float32)
    tensors = {
        "x_ptr": TensorArgument(x, (16, 1)),
        "h_ptr": TensorArgument(x.astype(np.float16), (16, 1)),
        "y_ptr": TensorArgument(np.zeros_like(x), (16, 1)),
    }
    launches = [Launch(name, (1, 1, 1), tensors, {"n": ("int32", 64)}, {"SIDE": 16}) for name in bodies]
    with Sandbox(Limits()) as sandbox:
        report = sandbox.run(source, list(bodies), launches, [[(n, [0]) for n in range(len(launches))]])
    answers = report.passes[0]
    yield {name: answers.results[number] for number, name in enumerate(bodies)}


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_in_half_is_noted_and_no_other(logs: dict[str, LaunchResult], name: str) -> None:
    log = logs[name].log
    assert logs[name].error is None
    assert {way for way, *_ in log.losses} == SUMS[name][1]


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_blocks_are_counted(logs: dict[str, LaunchResult], name: str) -> None:
    log = logs[name].log
    assert logs[name].error is None
    assert log.products.sum() == PRODUCTS[name][1]


def test_products_are_known_by_their_line(logs: dict[str, LaunchResult]) -> None:
    log = logs["rescaled_in_a_loop"].log
    assert log.products[log.products > 0].tolist() == [4 * 256]  # one record of four iterations
    assert {*log.line[log.kind == PRODUCT].tolist()} == {*log.line[log.kind == LOSS].tolist()}
    times = {way: often for way, _, often in log.losses}
    assert times == {IN_LOOP: 2, ON_THE_WAY: 3}  # the first of four has nothing rounded, the second nothing twice


def test_the_line_that_rounds_is_noted(logs: dict[str, LaunchResult]) -> None:
    log, first = logs["multiplied_before_its_product"].log, logs["exponent_in_half"].log
    source = SUMS["multiplied_before_its_product"][0]
    assert source.splitlines()[0].endswith(".to(tl.float16)")
    line = int(log.line[log.kind == LOSS][0])
    assert line == int(log.line[log.kind == STORE][-1]) - len(source.splitlines())
    assert int(first.line[first.kind == LOSS][0]) == int(first.line[first.kind == STORE][-1]) - 1
