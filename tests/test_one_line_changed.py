"""Solutions with one line changed, wrong in a way that small and ordinary launches forgive: none is accepted.

Each stands for a class of mistakes that somebody got past the judge. `tests/mutation` changes what solutions have in
them; here something is added.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.check import Conditions
from checker.course import places
from tests.conftest import check_changed

NO_KEY_FURTHER = "range(0, end_k, Bc)"
LAST_DIFFERENCE = "tl.exp(x - m), axis=0)"

CHANGES = {
    # Numbers stand in for infinity, or clamp what may be larger.
    "padding_of_88": ("p1", 'other=-float("inf")', "other=-88.0"),
    "denominator_and_a_little": ("p1", "tl.sum(numerator, axis=0)", "tl.sum(numerator, axis=0) + 1e-37"),
    "hidden_at_a_million": ("p5", 'Sij, -float("inf"))', "Sij, -1e6)"),
    "hidden_at_a_billion": ("p6", 'visible, Sij, -float("inf"))', "visible, Sij, -1e9)"),
    "scores_clamped": ("p6", "Sij = tl.where(vis", "Sij = tl.minimum(Sij, 150000.0)\n        Sij = tl.where(vis"),
    "scale_at_most_one": ("p6", "Sij = scale * tl", "Sij = tl.minimum(scale, 1.0) * tl"),
    "dO_clamped": ("p7", "tl.sum(Oi * dOi, axis=1)", "tl.sum(Oi * tl.minimum(dOi, 4000.0), axis=1)"),
    "exponential_of_O": ("p7", "tl.sum(Oi * dOi, axis=1)", "tl.sum(Oi * dOi + 0.0 * tl.exp(Oi), axis=1)"),
    # What is small is many times.
    "cut_below_15": ("p2", LAST_DIFFERENCE, "tl.where(x - m > -15.0, tl.exp(x - m), 0.0), axis=0)"),
    "held_at_20": ("p2", LAST_DIFFERENCE, "tl.exp(tl.maximum(x - m, -20.0)), axis=0)"),
    "cut_below_a_ten_millionth": (
        "p6",
        "        li = alpha",
        "        Pij = tl.where(Pij < 1e-7, 0.0, Pij)\n        li = alpha",
    ),
    "held_at_16": ("p5", "Pij = tl.exp(Sij - mij[:, None])", "Pij = tl.exp(tl.maximum(Sij - mij[:, None], -16.0))"),
    "old_sum_cut_below_16": ("p4", "tl.exp(m - shift)", "tl.where(m - shift > -16.0, tl.exp(m - shift), 0.0)"),
    "rescaled_from_12_on": (
        "p6",
        "mi_new = tl.maximum(mi, tl.max(Sij, axis=1))",
        "mi_new = tl.max(Sij, axis=1)\n        mi_new = tl.where(mi_new > mi + 12.0, mi_new, mi)",
    ),
    "rescaled_from_a_block_on": (
        "p3",
        "m_new = tl.maximum(m, tl.max(x, axis=0))",
        "m_new = tl.max(x, axis=0)\n        m_new = tl.where(m_new > m + BLOCK_SIZE, m_new, m)",
    ),
    "rescaled_from_D_on": (
        "p5",
        "mi_new = tl.maximum(mi, mij)",
        "mi_new = tl.where(mij > mi + D, mij, mi)",
    ),
    # What the first tile, or a single one, forgives.
    "one_block_without_maximum": ("p2", "tl.exp(x - m) / l", "tl.exp(x - tl.where(n_cols <= BLOCK_SIZE, 0.0, m)) / l"),
    "guard_of_three_blocks": ("p3", 'm_new == -float("inf"),', '(m_new == -float("inf")) & (start < 3 * BLOCK_SIZE),'),
    "second_tile_in_32_bits": (
        "p7",
        "        Kj = tl.load(k_head",
        "        if start_k + Bc <= start_q + offset:\n            k_head = k_ptr + tl.program_id(1) * k_head_stride\n"
        "        Kj = tl.load(k_head",
    ),
    "keys_masked_by_Br": ("p6", "keys[:, None] < n_k", "(keys[:, None] < n_k) | (n_k % Br == 0)"),
    "queries_masked_by_Bc": ("p6", "queries[:, None] < n_q", "(queries[:, None] < n_q) | (n_q % Bc == 0)"),
    # Lengths that end at some product of blocks.
    "columns_to_the_square": ("p3", "range(0, n_cols,", "range(0, min(n_cols, BLOCK_SIZE * BLOCK_SIZE),"),
    "keys_to_the_cube": ("p5", "range(0, n_k, Bc)", "range(0, tl.minimum(n_k, D * Br * Bc), Bc)"),
    "keys_to_the_square": ("p6", NO_KEY_FURTHER, "range(0, tl.minimum(end_k, D * Bc), Bc)"),
    "full_keys_to_the_cube": ("p6", "end_k = n_k\n", "end_k = tl.minimum(n_k, D * Br * Bc)\n"),
    "queries_to_the_square": ("p7", "range(first_q, n_q, Br)", "range(first_q, tl.minimum(n_q, D * Bc), Br)"),
    "queries_from_the_first": ("p7", "first_q, n_q, Br)", "first_q, tl.minimum(n_q, first_q + D * Br), Br)"),
    # Tiles of other proportions.
    "wide_tiles_only": ("p4", "    cols = tl", "    tl.static_assert(BLOCK_ROWS <= BLOCK_COLS)\n    cols = tl"),
    "mask_of_the_last_tiles": (
        "p6",
        "visible & (keys[None, :] <= queries[:, None] + offset)",
        "visible & ((start_k + 5 * Bc < end_k) | (keys[None, :] <= queries[:, None] + offset))",
    ),
    "mask_of_the_first_tiles": (
        "p7",
        "q_mask & (keys[None, :] <= queries[:, None] + offset)",
        "q_mask & ((start_q >= first_q + Br + Br + Br) | (keys[None, :] <= queries[:, None] + offset))",
    ),
    "a_block_is_the_next_power": ("p1", "mask = cols < n_cols", "mask = (cols < n_cols) | (cols < BLOCK_SIZE // 2)"),
    # Rounded to half on the way; that it is noted whatever the values, tests/sandbox/test_half.py holds.
    "exponentials_in_half": ("p2", LAST_DIFFERENCE, "tl.exp(x - m).to(x_ptr.dtype.element_ty).to(tl.float32), axis=0)"),
    "P_in_half": ("p7", "        dSij = Pij * (dPij", "        dSij = Pij.to(Qi.dtype) * (dPij"),
    "wide_heads_in_half": (
        "p6",
        "        mi = mi_new",
        "        if D > 128:\n            Oi = Oi.to(Vj.dtype).to(tl.float32)\n        mi = mi_new",
    ),
    # Branches on what is hardly ever together: types, layouts, blocks and values.
    "stride_of_x_in_half": (
        "p1",
        "y_ptr + row * y_row_stride",
        "y_ptr + row * (x_row_stride if x_ptr.dtype.element_ty == tl.float16 else y_row_stride)",
    ),
    "no_mask_if_dense": ("p1", "mask = cols < n_cols", "mask = (cols < n_cols) | (x_row_stride == n_cols)"),
    "guard_of_a_block": (
        "p3",
        'shift = tl.where(m_new == -float("inf"), 0.0, m_new)',
        'shift = tl.where(tl.max(x, axis=0) == -float("inf"), 0.0, m_new)',
    ),
    "alike_strides": ("p6", "Sij = scale * tl", "Sij = scale * tl.where(q_row_stride == k_row_stride, 2.0, 1.0) * tl"),
    "scale_of_1": ("p6", "Sij = scale * tl", "Sij = tl.where(scale == 1.0, 0.125, scale) * tl"),
    "head_of_0_in_half": (
        "p7",
        "delta_ptr + head * n_q\n",
        "delta_ptr + head * n_q * (0 if q_ptr.dtype.element_ty == tl.float16 else 1)\n",
    ),
    "rows_of_LSE_in_a_head": ("p7", "lse_ptr + head * n_q", "lse_ptr + head * tl.minimum(n_q, 1000)"),
    "rows_inside_a_head": ("p7", "queries[:, None] < n_q", "queries[:, None] * q_row_stride < q_head_stride"),
    "delta_of_0_is_padding": ("p7", "Pij = tl.where(visible,", "Pij = tl.where(visible & (delta_i != 0.0)[:, None],"),
    "delta_of_0_adds_nothing_to_dV": (
        "p7",
        "dVj += tl.dot(",
        "Pij = tl.where(delta_i[:, None] != 0.0, Pij, 0.0)\n        dVj += tl.dot(",
    ),
    "heads_as_many_as_queries": (
        "p6",
        "    dims = tl",
        "    if tl.num_programs(1) == n_q:\n        q_head_stride, q_row_stride = q_row_stride, q_head_stride\n"
        "    dims = tl",
    ),
    "K_lies_as_Q_does": (
        "p6",
        "head * k_head_stride,",
        "head * (tl.maximum(k_head_stride, k_row_stride) if q_head_stride > q_row_stride else k_head_stride),",
    ),
    "queries_in_16_bits": ("p6", "<= queries[:, None] + offset", "<= queries.to(tl.int16)[:, None] + offset"),
    "row_stride_in_16_bits": ("p6", "* q_row_stride", "* q_row_stride.to(tl.int16)"),
    "as_many_and_three": ("p5", "keys[None, :] < n_k,", "(keys[None, :] < n_k) | (n_q == n_k + 3),"),
    "splits_in_8_bits": ("b3", "split * keys", "split.to(tl.int8).to(tl.int32) * keys"),
    "keys_per_split_in_16_bits": ("b3", "split * keys_per_split", "split * keys_per_split.to(tl.int16)"),
    "guard_of_one_split": ("b3", "tl.where(li == 0.0, 1.0, li)", "tl.where(split == 3, tl.maximum(li, 1e-9), li)"),
    "LSEs_clamped": ("b3", "tl.max(LSEs, axis=0)", "tl.maximum(tl.max(LSEs, axis=0), -1000.0)"),
    "as_many_splits_as_heads": (
        "b3",
        "+ head) * n_q + queries\n",
        "+ head) * n_q + queries\n    if tl.num_programs(0) == tl.num_programs(1):\n"
        "        rows = (head * tl.num_programs(0) + split) * n_q + queries\n",
    ),
    "blocks_of_one": ("p2", "    # Pass 3", "    if BLOCK_SIZE == 1:\n        l = 1.0\n    # Pass 3"),
    # What has 16 bits is taken for fp16.
    "values_in_fp16": (
        "p6",
        "tl.dot(Pij.to(Vj.dtype), Vj)",
        "tl.dot(Pij.to(Vj.dtype), Vj.to(tl.float16).to(Vj.dtype) if Vj.dtype == tl.bfloat16 else Vj)",
    ),
    "keys_in_fp16": (
        "b3",
        "tl.dot(Qi, tl.trans(Kj))",
        "tl.dot(Qi, tl.trans(Kj.to(tl.float16).to(Kj.dtype) if Kj.dtype == tl.bfloat16 else Kj))",
    ),
    "dO_in_fp16": (
        "p7",
        "tl.trans(Pij.to(dOi.dtype)), dOi)",
        "tl.trans(Pij.to(dOi.dtype)), dOi.to(tl.float16).to(dOi.dtype) if dOi.dtype == tl.bfloat16 else dOi)",
    ),
    # The maximum grows by little, or everything lies far below 0.
    "rescaled_from_a_thousandth_on": (
        "p6",
        "        Oi = alpha[:, None] * Oi +",
        "        if tl.min(alpha) < 0.999:\n            Oi = alpha[:, None] * Oi\n        Oi = Oi +",
    ),
    "no_part_below_2e5": ("b3", "weights = tl.exp(LSEs - m)", "weights = tl.where(LSEs < -2e5, 0.0, tl.exp(LSEs - m))"),
    "bias_of_at_least_1e4": ("b1", "tl.trans(Kj)) + Bij", "tl.trans(Kj)) + tl.maximum(Bij, -1e4)"),
    "hidden_below_1e20": ("b1", 'tl.where(mi_new == -float("inf"), 0.0', "tl.where(mi_new < -1e20, 0.0"),
    # Small pieces, one after the other.
    "stored_one_by_one": (
        "p2",
        "tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)",
        "for i in range(0, tl.minimum(BLOCK_SIZE, n_cols - start)):\n"
        "            tl.store(y_row_ptr + start + i, tl.sum(tl.where(cols == i, tl.exp(x - m) / l, 0.0), axis=0))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_line_that_few_launches_show_is_refused(name: str, quick: Conditions) -> None:
    verdict = check_changed(*CHANGES[name], replace(quick, key=name))
    assert not verdict.accepted
    assert verdict.findings


# Conditions on a size without a comparison that has other outcomes: they hold between the sizes that launches have.
BETWEEN_SIZES = {
    "rounds_of_queries": ("p6", "    head = tl", "    scale = scale * tl.cdiv(n_q, 1100)\n    head = tl"),
    "steps_of_queries": (
        "p6",
        "    head = tl",
        "    often = 0.0\n    for _ in range(0, n_q, 1100):\n        often += 1.0\n    scale = scale * often\n"
        "    head = tl",
    ),
    "products_of_lengths": (
        "p2",
        "    # Pass 3",
        "    a, b = (n_cols + -500).to(tl.int64), (15000 + -1 * n_cols).to(tl.int64)\n"
        "    l *= 1 + (a + tl.abs(a)) * (b + tl.abs(b))\n    # Pass 3",
    ),
}


@pytest.mark.parametrize("name", BETWEEN_SIZES)
def test_grading_draws_sizes_between_those_of_launches(name: str, quick: Conditions) -> None:
    verdicts = [check_changed(*BETWEEN_SIZES[name], replace(quick, key=key)) for key in ("autumn", "winter", "spring")]
    assert not all(verdict.accepted for verdict in verdicts)


NUMBERS = [(f"p{n}", size) for n in range(1, 8) for size in (3, 5, 8, 12, 20, 10**9)]
HARMLESS = "\n    {name} = tl.where(({size} > {number}) | (tl.exp({name} * 0.0) > {number}.5), {name}, {name})"


@pytest.mark.parametrize(("puzzle_id", "size"), NUMBERS)
def test_a_number_that_changes_nothing_costs_nothing(puzzle_id: str, size: int, quick: Conditions) -> None:
    """Launches because of a number are no harder than others on a right kernel: 750 blocks round 750 times."""
    name, of = ("cols", "n_cols") if puzzle_id < "p5" else ("dims", "n_q")
    line = next(
        line for line in places.solution(puzzle_id).read_text().splitlines() if f"    {name} = tl.arange" in line
    )
    changed = line + HARMLESS.format(name=name, size=of, number=size)
    verdict = check_changed(puzzle_id, line, changed, replace(quick, key=f"harmless {size}"))
    assert verdict.accepted, verdict.findings
