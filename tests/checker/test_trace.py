"""Pictures of real kernels: what is seen of them, what is said, what is drawn, and what is not."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from checker import catalog
from checker.box.memory import DOT, LOAD
from checker.box.parent import Box
from checker.box.results import parse
from checker.judge.compare import wrong_elements
from checker.judge.evidence import launch_of, written_tensors
from checker.puzzle import Draw
from checker.road import Terms, check
from checker.submission.extract import extract
from checker.submission.read import from_cells, from_file
from checker.trace import record, run, visits, words
from checker.trace.command import show
from checker.trace.result import Pairs, Trace
from tests.conftest import ROOT, importable, puzzle_of

STEMS = catalog.stems()
numbers = pytest.mark.parametrize("number", STEMS, ids=STEMS.values())
BESIDE_DIAGONAL = frozenset((i, j) for i in range(4) for j in range(i + 1, 4))
MOST_BYTES = 200_000
WRONG = ("p1_no_store_mask", "p2_reads_y_back", "p6_last_keys_only", "p7_mask_forgotten_in_dq")


def traced(number: int, text: str, name: str = "kernel.py") -> Trace:
    submission = from_cells([("code", text)], name, numbered=False)
    return run.traced(submission, check(number, submission, Terms(targets=())))


@cache
def of_file(path: Path) -> Trace:
    return traced(puzzle_of(path), path.read_text())


def solution(number: int) -> Trace:
    return of_file(ROOT / "solutions" / f"{STEMS[number]}.py")


def wrong(stem: str) -> Trace:
    return of_file(ROOT / "tests" / "wrong" / f"{stem}.py")


def pairs_of(trace: Trace, kernel: int = 0) -> Pairs:
    pairs = trace.launches[kernel].pairs
    assert pairs is not None
    return pairs


def said(trace: Trace) -> str:
    return "\n".join(words.summary(trace))


def trail(pairs: Pairs) -> dict[int, list[tuple[int, int]]]:
    """Program → the pairs that it visited, in order."""
    return {p: [(v.query_tile, v.key_tile) for v in pairs.of_program(p)] for p in pairs.programs}


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    line = [sys.executable, "-m", "checker", "trace", *arguments]
    return subprocess.run(line, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


# --- what is seen ---


def test_flash_attention_1_goes_down_the_columns() -> None:
    pairs = pairs_of(solution(5))
    assert trail(pairs) == {0: [(i, j) for j in range(4) for i in range(4)]}
    assert [v.number for v in pairs.visits] == list(range(1, 17))
    assert words.order(pairs) == words.COLUMN_BY_COLUMN
    assert not pairs.skipped and not pairs.hidden


def test_flash_attention_2_goes_along_the_rows_and_skips_what_is_hidden() -> None:
    pairs = pairs_of(solution(6))
    assert trail(pairs) == {i: [(i, j) for j in range(i + 1)] for i in range(4)}
    assert words.order(pairs) == words.ROW_BY_ROW
    assert pairs.skipped == pairs.hidden == BESIDE_DIAGONAL
    assert "6 of 16 pairs of tiles skipped, which the mask hides" in said(solution(6))


def test_the_backward_pass_goes_both_ways() -> None:
    delta, dk_dv, dq = solution(7).launches
    assert delta.pairs is None
    assert trail(pairs_of(solution(7), 1)) == {j: [(i, j) for i in range(j, 4)] for j in range(4)}
    assert trail(pairs_of(solution(7), 2)) == {i: [(i, j) for j in range(i + 1)] for i in range(4)}
    assert dk_dv.pairs is not None and dq.pairs is not None
    assert (words.order(dk_dv.pairs), words.order(dq.pairs)) == (words.COLUMN_BY_COLUMN, words.ROW_BY_ROW)


def test_tiles_that_are_not_skipped_are_seen() -> None:
    trace = wrong("p6_blocks_not_skipped")
    assert pairs_of(trace).skipped == frozenset()
    assert "6 visited in vain: the mask hides all of them" in said(trace)
    assert "none of 16 pairs of tiles skipped" in said(trace)


def test_tiles_that_are_skipped_although_they_count_are_seen() -> None:
    text = (ROOT / "solutions" / f"{STEMS[6]}.py").read_text()
    assert "start_q + Br + offset" in text
    trace = traced(6, text.replace("start_q + Br + offset", "start_q + offset"))
    assert pairs_of(trace).skipped - BESIDE_DIAGONAL == {(i, i) for i in range(4)}
    assert "4 of them would have counted" in said(trace)


def test_a_product_without_loads_is_told() -> None:
    trace = wrong("p6_hidden_tiles_masked_only")
    assert pairs_of(trace).effort == 1.6
    assert "tl.dot multiplies 1.6 times as much" in said(trace)
    assert "tl.dot" not in said(solution(6))


@pytest.mark.parametrize(("number", "sweeps"), [(1, 1), (2, 3), (3, 2), (4, 2)])
def test_sweeps_are_counted(number: int, sweeps: int) -> None:
    [launch] = solution(number).launches
    [reads] = launch.reads
    assert reads.tensor == "x" and (reads.counts == sweeps).all()
    assert f"reads per element: x {sweeps}\n" in said(solution(number)) + "\n"


def test_a_third_sweep_is_seen() -> None:
    [launch] = wrong("p3_three_sweeps").launches
    assert (launch.reads[0].counts == 3).all()
    assert [(t.tensor, t.loads > t.most_loads) for t in launch.traffic] == [("x_ptr", True), ("y_ptr", False)]


def test_blocks_are_touched_in_order_and_end_with_the_row() -> None:
    program = solution(3).launches[0].programs[2]
    blocks = [((0, 16),), ((16, 32),), ((32, 48),), ((48, 61),)]
    assert [touch.spans for touch in program.touches if not touch.store] == blocks * 2
    assert [(touch.step, touch.spans) for touch in program.touches if touch.store] == list(enumerate(blocks, start=4))
    assert (program.rows, program.loads, program.stores, program.steps) == ((2, 2), 8, 4, 8)
    assert solution(4).launches[0].programs[2].rows == (8, 10)


def test_a_step_is_a_turn_of_the_loop() -> None:
    [program] = solution(5).launches[0].programs
    for step in range(16):
        touched = {(t.tensor, t.store) for t in program.touches if t.step == step}
        assert {("q", False), ("o", False), ("o", True), ("l", True), ("m", True)} <= touched
        assert (("k", False) in touched) == (("v", False) in touched) == (step % 4 == 0)


@numbers
def test_counts_agree_with_the_judge(number: int) -> None:
    for launch in solution(number).launches:
        loads = {t.tensor.removesuffix("_ptr"): t.loads for t in launch.traffic}
        assert all(reads.counts.sum() == loads[reads.tensor] for reads in launch.reads)
        assert {reads.tensor for reads in launch.reads} >= {name for name, count in loads.items() if count}
        assert all(t.loads <= t.most_loads and t.stores <= t.most_stores for t in launch.traffic)
        assert all(t.most_stores == 0 or t.stores for t in launch.traffic)


@numbers
def test_what_is_drawn_is_a_launch_that_a_solution_does_right(number: int) -> None:
    """One for each kernel, of at least three tiles a side where there are tiles, and none of those that are graded."""
    puzzle = catalog.load(number)
    cases = run.cases_of(puzzle)
    assert [case.kernel for case in cases] == [kernel.name for kernel in puzzle.kernels]
    assert not {case.name for case in cases} & {case.name for case in puzzle.cases(Draw())}
    assert not any(case.proves for case in cases)
    program = extract(from_file(ROOT / "solutions" / f"{STEMS[number]}.py"), puzzle.kernels)
    asked = [launch_of(case) for case in cases]
    with Box(run.LIMITS) as box:
        report = box.run(
            program.source,
            [case.kernel for case in cases],
            asked,
            [[(n, range(launch.programs)) for n, launch in enumerate(asked)], []],
        )
    results = parse(bytes(report.passes[0].answer), asked, list(range(len(asked)))).results
    for case, result in zip(cases, results.values(), strict=True):
        expected = puzzle.expected(case)
        for name in written_tensors(case):
            assert not wrong_elements(result.tensors[name], expected[name]).any()
    if number > 1:
        bands = [band for launch in solution(number).launches for band in launch.bands]
        assert all(-(-band.extent // band.block) >= 3 for band in bands)


def test_without_a_choice_the_first_case_about_traffic_is_drawn() -> None:
    puzzle = replace(catalog.load(7), pictured=None)
    names = [case.name.partition(" (")[0] for case in run.cases_of(puzzle)]
    assert names == ["delta: whole tiles", "dk_dv: three by three tiles", "dq: three by three tiles"]
    softmax = catalog.load(3)
    last_first = replace(softmax, pictured=None, cases=lambda draw: softmax.cases(draw)[::-1])
    assert [case.name.partition(" (")[0] for case in run.cases_of(last_first)] == ["every kind of row"]


def test_a_kernel_that_is_still_empty_is_left_out() -> None:
    text = (ROOT / "solutions" / f"{STEMS[7]}.py").read_text()
    first, after = text.index("    # Line 5: for 1 <= j"), text.index("@triton.jit\ndef dq_kernel(")
    trace = traced(7, text[:first] + "    # FILL IN\n    pass\n\n\n" + text[after:])
    assert [launch.kernel for launch in trace.launches] == ["delta_kernel", "dq_kernel"]


def test_a_launch_that_stops_is_seen_up_to_there() -> None:
    trace = wrong("p1_no_store_mask")
    [launch] = trace.launches
    assert launch.stopped == "program 0 stopped in line 18: an access outside its tensor"
    assert launch.stopped in said(trace)
    assert [program.loads for program in launch.programs] == [1, 0, 0, 0]
    assert launch.reads[0].counts.sum() == 61


def test_of_many_programs_and_steps_the_first_are_kept() -> None:
    """One column a step, which is right, and slow: what is left out is told."""
    lines = (ROOT / "solutions" / f"{STEMS[2]}.py").read_text().split("\n")
    [first] = [n for n, line in enumerate(lines) if line.startswith("def ")]
    body = """    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    for c in range(0, n_cols):
        m = tl.maximum(m, tl.load(x_ptr + row * x_row_stride + c).to(tl.float32))
    tl.store(y_ptr + row * y_row_stride, m)"""
    [launch] = traced(2, "\n".join([*lines[: first + 1], body])).launches
    assert [program.steps for program in launch.programs] == [61] * 4
    assert {touch.step for touch in launch.programs[0].touches} == set(range(record.MOST_STEPS))


# --- from logs to data ---


@given(st.sets(st.integers(0, 60), min_size=1))
def test_spans_cover_what_was_touched(positions: set[int]) -> None:
    spans = record._spans(np.array(sorted(positions)))
    covered = [p for first, end in spans for p in range(first, end)]
    assert positions <= set(covered) and len(covered) == len(set(covered))
    assert len(spans) == record.MOST_SPANS or len(spans) < record.MOST_SPANS
    runs = sum(p - 1 not in positions for p in positions)
    assert len(spans) == (runs if runs <= record.MOST_SPANS else 1)
    if runs <= record.MOST_SPANS:
        assert set(covered) == positions


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12), st.integers(1, 3), st.booleans())
def test_visits_are_pairs_of_what_was_loaded_last(trail: list[tuple[int, int]], products: int, reload: bool) -> None:
    """Whatever is reused and however often is multiplied: the pairs come back, each once in a row."""
    [case] = run.cases_of(catalog.load(6))
    names = list(case.tensors)
    kinds: list[tuple[int, int]] = []
    touched: list[range] = []
    last: dict[str, int] = {}
    for pair in trail:
        for name, tile in zip(("q_ptr", "k_ptr"), pair, strict=True):
            if reload or last.get(name) != tile:
                kinds.append((LOAD, names.index(name)))
                touched.append(range(tile * 256, (tile + 1) * 256))
            last[name] = tile
        kinds += [(DOT, 0)] * products
        touched += [range(0)] * products
    log = SimpleNamespace(
        kind=np.array([kind for kind, _ in kinds], np.int32),
        tensor=np.array([tensor for _, tensor in kinds], np.int32),
        program=np.zeros(len(kinds), np.int32),
        distinct=np.array([len(some) for some in touched], np.int32),
        elements=np.array([e for some in touched for e in some], np.int32),
    )
    found = list(visits._visits(case, SimpleNamespace(log=log), {"q_ptr": "query", "k_ptr": "key"}))  # type: ignore[arg-type]
    once = [pair for n, pair in enumerate(trail) if n == 0 or pair != trail[n - 1]]
    assert [(v.query_tile, v.key_tile) for v in found] == once
    assert [v.number for v in found] == list(range(1, len(once) + 1))


# --- beside another puzzle ---


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's folder, with nothing in it yet."""
    for folder in ("puzzles", "notebooks"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return tmp_path


def beside(number: int) -> Any:
    return run._beside(catalog.load(number))


def test_a_solved_neighbour_stands_beside(course: Path) -> None:
    for number, order in ((5, words.ROW_BY_ROW), (6, words.COLUMN_BY_COLUMN)):
        other = 11 - number
        text = (ROOT / "solutions" / f"{STEMS[other]}.py").read_text()
        (course / "puzzles" / f"{STEMS[other]}.py").write_text(text)
        found = beside(number)
        assert (found.puzzle, words.order(found.pairs)) == (other, order)
        assert order in words.of_beside(found)
    assert beside(7) is None


def test_a_neighbour_in_a_notebook_stands_beside(course: Path) -> None:
    cell = {"cell_type": "code", "source": (ROOT / "solutions" / f"{STEMS[6]}.py").read_text()}
    (course / "puzzles" / f"{STEMS[6]}.py").write_text((ROOT / "puzzles" / f"{STEMS[6]}.py").read_text())
    (course / "notebooks" / f"{STEMS[6]}.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert beside(5).pairs is not None


def test_a_neighbour_that_is_wrong_or_missing_is_an_invitation(course: Path) -> None:
    assert beside(5).pairs is None
    (course / "puzzles" / f"{STEMS[6]}.py").write_text((ROOT / "tests/wrong/p6_blocks_not_skipped.py").read_text())
    assert beside(5).pairs is None
    assert "Solve puzzle 6" in words.of_beside(beside(5))


# --- what is said ---


def test_the_grid_is_drawn_in_characters() -> None:
    lines = said(solution(6)).split("\n")
    at = next(n for n, line in enumerate(lines) if "keys →" in line)
    shown = [line.split("  ·")[0].split("   keys")[0].split("   queries")[0].split() for line in lines[at : at + 4]]
    assert shown == [["1"], ["1", "2"], ["1", "2", "3"], ["1", "2", "3", "4"]]
    assert "  4  8 12 16" in said(solution(5))


@pytest.mark.parametrize("number", [3, 5, 7])
def test_the_summary_fits_a_narrow_terminal(number: int) -> None:
    out = io.StringIO()
    show(Console(file=out, width=40, color_system=None, markup=False, highlight=False, emoji=False), solution(number))
    lines = out.getvalue().split("\n")
    assert max(map(len, lines)) <= 40
    assert sum(line.strip() == "" for line in lines) > len(solution(number).launches)  # kernels stand apart
    assert "\x1b" not in out.getvalue()


def test_wrong_elements_are_counted_whole_cells_or_not() -> None:
    trace = wrong("p4_padding_counted")
    assert trace.wrong is not None
    picture = replace(trace.wrong.picture, shape=(3, 5), cell=(2, 4), wrong=((1.0, 0.0), (0.5, 1.0)))
    # Eight, of 2 x 4; two of the four in the last row; and the one in the corner.
    assert "73% of its elements" in words.of_wrongness(replace(trace.wrong, picture=picture))


# --- what is drawn ---


def figure(trace: Trace) -> Any:
    importable("matplotlib")
    from checker.trace import chart

    return chart.figure(trace)


def texts(drawn: Any) -> list[str]:
    matplotlib = importable("matplotlib")
    return [text.get_text() for text in drawn.findobj(matplotlib.text.Text) if text.get_text()]


def test_skipped_tiles_and_the_order_are_written_into_the_grid() -> None:
    drawn = texts(figure(replace(solution(6), beside=None)))
    assert drawn.count("skipped") == len(BESIDE_DIAGONAL)
    assert "Your tiles: row by row" in drawn
    vain = texts(figure(replace(wrong("p6_blocks_not_skipped"), beside=None)))
    assert vain.count("in vain") == 6 and "skipped" not in vain


def test_a_neighbour_is_drawn_or_invited() -> None:
    own = replace(solution(5), beside=run.Beside(6, "FlashAttention-2", pairs_of(solution(6))))
    drawn = texts(figure(own))
    assert "Your tiles: column by column" in drawn and "Your puzzle 6: row by row" in drawn
    assert drawn.count("skipped") == 6
    assert own.beside is not None
    invited = texts(figure(replace(own, beside=replace(own.beside, pairs=None))))
    assert "make check PUZZLE=6" in invited and "skipped" not in invited


def test_a_wrong_kernel_gets_its_error_map() -> None:
    trace = wrong("p4_padding_counted")
    assert trace.wrong is not None and trace.finding is not None
    assert trace.wrong.title == trace.finding.title
    drawn = figure(trace)
    assert "Where y is wrong" in texts(drawn) and trace.finding.title in texts(drawn)
    [axes] = [axes for axes in _axes(drawn) if axes.get_title(loc="left") == "Where y is wrong"]
    assert np.allclose(axes.images[0].get_array(), trace.wrong.picture.wrong)
    assert "Where y is wrong" not in texts(figure(solution(4)))


def _axes(drawn: Any) -> list[Any]:
    matplotlib = importable("matplotlib")
    found: list[Any] = drawn.findobj(matplotlib.axes.Axes)
    return found


def test_bounds_and_what_passes_them_are_marked() -> None:
    drawn = texts(figure(wrong("p3_three_sweeps")))
    assert "3.00 of 2.00 ✗" in drawn and "1.00 of 1.00" in drawn


def test_reads_are_drawn_as_they_were_counted() -> None:
    launch = solution(6).launches[0]
    by_title = {axes.get_title(loc="left"): axes for axes in _axes(figure(replace(solution(6), beside=None)))}
    for reads in launch.reads:
        assert (by_title[reads.tensor].images[0].get_array() == reads.counts).all()
    labels = [text.get_text() for text in by_title["k"].texts]
    assert labels == ["4", "3", "2", "1"]


def test_loads_are_solid_and_stores_hatched() -> None:
    matplotlib = importable("matplotlib")
    [lane, *_] = [axes for axes in _axes(figure(solution(3))) if axes.get_title(loc="left") == "Columns over time"]
    marks = lane.findobj(lambda a: isinstance(a, matplotlib.patches.Rectangle) and a is not lane.patch)
    hatches = [mark.get_hatch() for mark in marks]
    assert hatches.count(None) == 8 and len(hatches) == 12


@given(st.integers(1, 30))
def test_colours_darken_with_the_count(most: int) -> None:
    """So that a heat map can be read in grey."""
    importable("matplotlib")
    from checker.trace.maps import _colours

    colours, norm = _colours(most)
    light = [float(np.dot(colours(norm(count))[:3], (0.299, 0.587, 0.114))) for count in range(1, most + 1)]
    assert light == sorted(light, reverse=True)
    assert most == 1 or light[0] - light[-1] > 0.1


@pytest.mark.parametrize(
    "trace",
    [*(lambda n=n: solution(n) for n in STEMS), *(lambda s=s: wrong(s) for s in WRONG)],
    ids=[*STEMS.values(), *WRONG],
)
def test_pictures_are_small_white_and_described(trace: Any) -> None:
    importable("matplotlib")
    image = importable("PIL.Image")
    from checker.trace import chart

    pages = dict(chart.pages(trace()))
    kernels = [launch.kernel.removesuffix("_kernel") for launch in trace().launches]
    assert list(pages) == ([trace().stem] if len(kernels) == 1 else [f"{trace().stem}_{k}" for k in kernels])
    assert sum(b"Where" in page for page in pages.values()) == 0  # text is drawn, not kept
    for page in pages.values():
        assert len(page) < MOST_BYTES
        read = image.open(io.BytesIO(page))
        assert read.convert("RGBA").getpixel((2, 2)) == (255, 255, 255, 255)
        assert read.text["Description"].startswith(f"Puzzle {trace().puzzle}")


def test_the_users_own_style_changes_nothing() -> None:
    matplotlib = importable("matplotlib")
    from checker.trace import chart

    plain = chart.png(solution(1))
    dark = {"figure.facecolor": "black", "axes.facecolor": "black", "text.color": "white", "font.size": 20}
    with matplotlib.rc_context(dark):
        assert chart.png(solution(1)) == plain


def test_the_map_of_errors_stands_on_its_own_kernels_page() -> None:
    importable("matplotlib")
    from checker.trace import chart

    drawn: list[Sequence[str]] = []
    trace = wrong("p7_mask_forgotten_in_dq")
    assert trace.wrong is not None and trace.wrong.kernel == "dq_kernel"
    for page in chart.each(trace):
        drawn.append(texts(chart.figure(page)))
    assert ["Where dq is wrong" in page for page in drawn] == [False, False, True]


# --- the command ---


def test_a_right_kernel_is_drawn(tmp_path: Path) -> None:
    importable("matplotlib")
    done = command("2", "--file", str(ROOT / f"solutions/{STEMS[2]}.py"), "--into", "pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reads per element: x 3" in done.stdout
    assert f"Written: pictures/{STEMS[2]}.png" in done.stdout
    assert (tmp_path / "pictures" / f"{STEMS[2]}.png").read_bytes().startswith(b"\x89PNG")


def test_a_wrong_kernel_is_drawn_and_its_status_is_that_of_check(tmp_path: Path) -> None:
    importable("matplotlib")
    done = command("4", "--file", str(ROOT / "tests/wrong/p4_padding_counted.py"), cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "The padding is counted in the sum" in done.stdout and "make check PUZZLE=4" in done.stdout
    assert (tmp_path / "trace" / f"{STEMS[4]}.png").exists()


def test_each_kernel_gets_a_page(tmp_path: Path) -> None:
    importable("matplotlib")
    done = command("7", "--file", str(ROOT / f"solutions/{STEMS[7]}.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "trace").iterdir()}
    assert names == {f"{STEMS[7]}_{kernel}.png" for kernel in ("delta", "dk_dv", "dq")}


SOLVED = (ROOT / "solutions" / f"{STEMS[1]}.py").read_text()
CANNOT_RUN = {
    "syntax": (SOLVED.replace("mask=mask)\n", "mask=mask\n"), "Python cannot read this"),
    "forbidden": (SOLVED.replace("    mask =", "    import os\n    mask ="), "uses what a kernel may not use"),
    "another kernel": (SOLVED.replace("naive_softmax_kernel", "my_kernel"), "naive_softmax_kernel"),
    "zero bytes": (SOLVED + "\0", "zero bytes"),
}


@pytest.mark.parametrize(("text", "sentence"), CANNOT_RUN.values(), ids=CANNOT_RUN)
def test_what_cannot_be_run_gets_its_report_and_no_picture(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(text)
    done = command("1", "--file", "broken.py", cwd=tmp_path)
    assert done.returncode == 1
    assert sentence in done.stdout
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "trace").exists()


def test_a_stub_is_not_drawn(tmp_path: Path) -> None:
    stub = tmp_path / "stub.py"
    stub.write_text("import triton\nimport triton.language as tl\n\n\n" + _stub_of(SOLVED))
    done = command("1", "--file", "stub.py", cwd=tmp_path)
    assert done.returncode == 4, done.stdout
    assert "not started" in done.stdout and "Written" not in done.stdout
    assert not (tmp_path / "trace").exists()


def _stub_of(text: str) -> str:
    head = text[text.index("@triton.jit") :]
    return head[: head.index("):\n") + 3] + "    # FILL IN\n    pass\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("9",), "There is no puzzle"),
        (("1", "--file", "nowhere.py"), "nowhere.py"),
        (("1", "--file", str(ROOT / f"solutions/{STEMS[1]}.py"), "--into", "taken"), "could not be written"),
    ],
    ids=["no puzzle", "no file", "no folder"],
)
def test_misuse_is_a_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    importable("matplotlib")
    (tmp_path / "taken").mkdir(mode=0o500)
    if "taken" in arguments and os.geteuid() == 0:  # nothing is forbidden to root
        (tmp_path / "taken").rmdir()
        (tmp_path / "taken").symlink_to("/proc/self/nowhere")
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr and "Traceback" not in done.stderr


def test_no_kernel_runs_in_the_checkers_own_process(tmp_path: Path) -> None:
    """Nor is Triton ever imported there."""
    path = ROOT / "solutions" / f"{STEMS[1]}.py"
    code = f"""
import sys
from pathlib import Path
from checker.road import check
from checker.submission.read import from_file
from checker.trace.run import traced
submission = from_file(Path({str(path)!r}))
assert traced(submission, check(1, submission)).launches
assert not {{"triton", "torch"}} & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
