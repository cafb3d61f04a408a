"""Promises of a lesson: a right specification, words before they are needed, figures that were measured."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.bench.result import Result, Size, from_json
from checker.course import ladder, places
from checker.course.columns import columns
from checker.course.lesson import hints, script_cells
from checker.publish.build import PARTS, with_parts
from checker.sandbox.protocol import philox
from tests import words
from tests.conftest import ROOT, importable

every_lesson = pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
COLUMNS = 64  # of a drawing: at 390 pixels its type has nine
SPAN = re.compile(r"`[^`\n]+`")


def cells(puzzle_id: str) -> list[tuple[str, str]]:
    return script_cells(places.script(puzzle_id).read_text(encoding="utf-8"))


def before(heading: str, puzzle_id: str) -> str:
    """A lesson, code and prose, down to one of its headings."""
    text = "\n\n".join(source for _, source in cells(puzzle_id))
    above, found, _ = text.partition(f"\n## {heading}")
    assert found, heading
    return above


def section(heading: str, puzzle_id: str) -> str:
    text = "\n\n".join(source for kind, source in cells(puzzle_id) if kind == "markdown")
    return re.split(r"^## ", text.split(f"## {heading}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


# Each lesson's specification: its last block of PyTorch before the signature.


def spec(puzzle_id: str) -> str:
    return str(PYTHON.findall(before("The signature", puzzle_id))[-1])


Given = dict[str, Any]


def vectors(torch: Any) -> tuple[Given, Given]:
    x, y = torch.randn(10), torch.randn(10)
    triton = SimpleNamespace(cdiv=lambda a, b: -(-a // b))
    return {"x": x, "y": y, "n": 10, "BLOCK_SIZE": 4, "triton": triton}, {"z": x + y}


def row(torch: Any) -> tuple[Given, Given]:
    x = torch.randn(11)
    return {"x": x, "BLOCK_SIZE": 4}, {"y": x.softmax(dim=0)}


def rows(torch: Any) -> tuple[Given, Given]:
    x = torch.randn(5, 10)
    tiles = {"n_rows": 5, "n_cols": 10, "BLOCK_ROWS": 2, "BLOCK_COLS": 4}
    return {"x": x, **tiles}, {"out": x.sum(dim=1), "y": x.softmax(dim=1), "transpose": x.T}


def matrices(torch: Any) -> tuple[Given, Given]:
    a, b = torch.randn(4, 6), torch.randn(5, 6)
    return {"a": a, "b": b, "m": 4, "n": 5}, {"c": a @ b.T}


def attention(torch: Any) -> tuple[Given, Given]:
    """Two heads of 5 queries and 7 keys, full and causal, with gradients by PyTorch itself."""
    q, k, v = (torch.randn(2, n, 8, requires_grad=True) for n in (5, 7, 7))
    hidden, do = torch.ones(5, 7).tril(2) == 0, torch.randn(2, 5, 8)
    full = 0.5 * q @ k.mT
    causal = full.masked_fill(hidden, -torch.inf)
    o, lse = causal.softmax(dim=-1) @ v, causal.logsumexp(dim=-1)
    dq, dk, dv = torch.autograd.grad(o, (q, k, v), do)
    given = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": do, "hidden": hidden}
    normaliser = (full - full.amax(dim=-1, keepdim=True)).exp().sum(dim=-1)
    results = {"o": o, "lse": lse, "dq": dq, "dk": dk, "dv": dv, "full": full.softmax(dim=-1) @ v, "l": normaliser}
    return {**given, "scale": 0.5, "n_q": 5, "n_k": 7, "CAUSAL": True}, results


def biased(torch: Any) -> tuple[Given, Given]:
    """Two heads that share a bias, full, with its gradient by PyTorch itself."""
    given, _ = attention(torch)
    q, k, v = (given[name].detach() for name in "qkv")
    bias = torch.randn(5, 7, requires_grad=True)
    s = 0.5 * q @ k.mT + bias
    o, lse = s.softmax(dim=-1) @ v, s.logsumexp(dim=-1)
    (dbias,) = torch.autograd.grad(o, bias, given["do"])
    given |= {"q": q, "k": k, "v": v, "bias": bias.detach(), "scale": 0.5, "n_q": 5, "n_k": 7, "CAUSAL": False}
    return given, {"o": o.detach(), "lse": lse.detach(), "dbias": dbias}


def dropped(torch: Any) -> tuple[Given, Given]:
    """Two heads of 5 queries and 7 keys with dropout, with gradients by PyTorch itself."""

    def rand(seed: int, offset: Any) -> Any:
        return torch.from_numpy(philox.rand(seed, offset.numpy()))

    q, k, v = (torch.randn(2, n, 8, requires_grad=True) for n in (5, 7, 7))
    head, i, j = (torch.arange(n).reshape(-1, *[1] * (2 - axis)) for axis, n in enumerate((2, 5, 7)))
    kept, do = rand(9, torch.arange(70).reshape(2, 5, 7)) >= 0.25, torch.randn(2, 5, 8)
    s = 0.5 * q @ k.mT
    o = (s.softmax(dim=-1) * kept / 0.75) @ v
    dk, dv = torch.autograd.grad(o, (k, v), do)
    given = {"q": q, "k": k, "v": v, "do": do, "scale": 0.5, "n_q": 5, "n_k": 7, "p": 0.25, "seed": 9}
    return {**given, "head": head, "i": i, "j": j, "rand": rand}, {"o": o, "lse": s.logsumexp(-1), "dk": dk, "dv": dv}


def decoding(torch: Any) -> tuple[Given, Given]:
    """The same attention, not causal, in splits of 3 keys."""
    given, results = attention(torch)
    scores = 0.5 * given["q"] @ given["k"].mT
    return {**given, "keys_per_split": 3}, {"o": results["full"], "lse": scores.logsumexp(dim=-1)}


GRADIENTS = {name: name for name in ("dq", "dk", "dv")}
# Of a lesson: what its specification is given, what of its results is compared with what, and how it is called.
SPECS: dict[str, tuple[Callable[[Any], tuple[Given, Given]], dict[str, str], str]] = {
    "w1": (vectors, {"z": "z"}, ""),
    "w2": (rows, {"out": "out"}, ""),
    "w3": (rows, {"y": "transpose"}, ""),
    "p1": (rows, {"y": "y"}, ""),
    "p2": (rows, {"y": "y"}, ""),
    "p3": (row, {"y": "y"}, ""),
    "p4": (rows, {"y": "y"}, ""),
    "a1": (matrices, {"c": "c"}, ""),
    "a2": (attention, {"o": "o", "lse": "lse"}, "o, lse = attention(q, k, v, scale, CAUSAL)"),
    "a3": (attention, {"o": "full"}, "o = attention(q, k, v, scale)"),
    "p5": (attention, {"o": "full", "l": "l"}, ""),
    "p6": (attention, {"o": "o", "lse": "lse"}, ""),
    "a4": (
        attention,
        {"dq": "dq", "dk": "dk", "dv": "dv"},
        "dq, dk, dv = backward(q, k, v, o, lse, do, scale, CAUSAL)",
    ),
    "p7": (attention, {"dq": "dq", "dk": "dk", "dv": "dv"}, ""),
    "c1": (
        attention,
        {"o": "o", "dq": "dq", "dk": "dk", "dv": "dv"},
        "o = attention(q, k, v, scale)\ndq, dk, dv = torch.autograd.grad(o, (q, k, v), do)",
    ),
    "b1": (biased, {"o": "o", "lse": "lse", "dbias": "dbias"}, ""),
    "b2": (dropped, {name: name for name in ("o", "lse", "dk", "dv")}, ""),
    "b3": (decoding, {"o": "o", "lse": "lse"}, ""),
}


@pytest.mark.finished
@every_lesson
def test_the_specification_is_right_and_short(puzzle_id: str) -> None:
    torch = importable("torch")
    torch.manual_seed(0)
    make, compared, call = SPECS[puzzle_id]
    given, expected = make(torch)
    in_a_batch = ladder.RUNGS[puzzle_id].pytorch  # of one sequence
    if in_a_batch:
        given = {name: value[None] if isinstance(value, torch.Tensor) else value for name, value in given.items()}
    names = {"torch": torch, **given}
    exec(f"{spec(puzzle_id)}\n{call}", names)
    assert len(spec(puzzle_id).strip().split("\n")) <= 7
    for name, result in compared.items():
        seen = names[name][0] if in_a_batch else names[name]
        torch.testing.assert_close(seen, expected[result], msg=f"{name} of {puzzle_id}")


# Words before they are needed.


@every_lesson
def test_every_parameter_stands_in_the_table(puzzle_id: str) -> None:
    text = places.script(puzzle_id).read_text(encoding="utf-8")
    (table,) = re.findall(r"^# ## The signatures?\n(.*?)^# ## ", text, re.DOTALL | re.MULTILINE)
    first_cells = "".join(line.split("|")[1] for line in table.split("\n") if line.startswith("# |"))
    for kernel in catalog.load(puzzle_id).kernels:
        missing = {name for name in kernel.parameters if f"`{name}`" not in first_cells}
        assert not missing, kernel.name


def words_needed(puzzle_id: str) -> Iterator[str]:
    """What the solution takes from `tl`, from `torch` and from tensors."""
    for node in ast.walk(ast.parse(places.solution(puzzle_id).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr != "jit":
            yield node.attr


WALKS = {"every rung": tuple(ladder.RUNGS), "the spine": ladder.SPINE}


@pytest.mark.parametrize(("walk", "puzzle_id"), [(walk, one) for walk, order in WALKS.items() for one in order])
def test_a_word_is_met_before_it_is_needed(walk: str, puzzle_id: str) -> None:
    """Here or on an earlier rung of the walk, above the hints: not in one of them alone."""
    order = WALKS[walk]
    met = "".join(before("Hints", earlier) for earlier in order[: order.index(puzzle_id) + 1])
    unmet = {word for word in words_needed(puzzle_id) if not re.search(rf"\.{word}\b", met)}
    assert not unmet


@every_lesson
def test_a_lesson_shows_another_example_than_its_answer(puzzle_id: str) -> None:
    """Of a solution of eight lines and more, at most a third stands in the lesson before the hints."""
    stub = {line.strip() for line in places.stubs(puzzle_id).read_text(encoding="utf-8").split("\n")}
    text = places.solution(puzzle_id).read_text(encoding="utf-8")
    code = [line.partition("  #")[0].strip() for line in text.split("\n")]
    own = [
        line
        for line in code
        if re.search(r"[=(]", line) and not line.startswith(("#", "@", "def ")) and line not in stub
    ]
    shown = before("Hints", puzzle_id)
    printed = [line for line in own if line in shown]
    assert len(own) < 8 or len(printed) <= len(own) / 3, printed


@every_lesson
def test_what_lessons_share_is_up_to_date(puzzle_id: str) -> None:
    """`python -m checker build` puts it there."""
    script = places.script(puzzle_id).read_text(encoding="utf-8")
    assert with_parts(script) == script


@pytest.mark.parametrize("part", [path.stem for path in (ROOT / PARTS).glob("*.md")])
def test_what_stands_apart_is_shared_and_open_where_a_walk_first_comes_by(part: str) -> None:
    """Folded for whoever may have been on the rung before it; on a rung by the side of the spine it is open."""
    lessons = {one: places.script(one).read_text(encoding="utf-8") for one in ladder.RUNGS}
    shared = [one for one, text in lessons.items() if f"<!-- {part} -->" in text]
    first, *others = shared
    assert others and first not in ladder.SPINE and {*others} & {*ladder.SPINE}
    folded = [one for one in shared if re.search(rf"<details>.*</summary>\n#\n# <!-- {part} -->", lessons[one])]
    assert folded == others


@every_lesson
def test_a_lesson_is_short(puzzle_id: str) -> None:
    assert words.words(puzzle_id)[0] <= words.MOST[puzzle_id]


@every_lesson
def test_a_drawing_of_text_can_be_read_on_a_telephone(puzzle_id: str) -> None:
    """A command may be longer. In Chinese, a sign takes two columns."""
    text = "\n".join(source for kind, source in cells(puzzle_id) if kind == "markdown")
    chinese = ROOT / "puzzles" / "zh" / f"{ladder.RUNGS[puzzle_id].stem}.md"
    text += chinese.read_text(encoding="utf-8") if chinese.exists() else ""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    drawn = [block for language, block in blocks if not language and not block.startswith("make ")]
    assert [line for block in drawn for line in block.split("\n") if columns(line) > COLUMNS] == []


def test_all_lessons_are_short() -> None:
    assert sum(words.words(puzzle_id)[1] for puzzle_id in ladder.RUNGS) <= words.MOST_IN_ALL


@every_lesson
def test_the_first_hint_is_no_code_that_fills_the_gap(puzzle_id: str) -> None:
    first, *_ = hints(cells(puzzle_id))
    for code in SPAN.findall(first.text):
        assert not re.search(r"=|tl\.|torch\.|range\(", code), code


# Figures that were measured.


def measured(puzzle_id: str, size: str) -> tuple[Result, Size]:
    recorded = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text(encoding="utf-8"))["results"]
    result = next(one for one in map(from_json, map(json.dumps, recorded)) if one.puzzle == puzzle_id)
    return result, next(one for one in result.sizes if one.name == size)


def median(puzzle_id: str, size: str, name: str = "solution") -> float:
    timing = measured(puzzle_id, size)[1].of(name)
    assert timing
    return timing.median


def ms(digits: int, puzzle_id: str, size: str, name: str = "solution") -> str:
    return f"{median(puzzle_id, size, name):.{digits}f} ms"


def share(digits: int, puzzle_id: str, size: str, name: str = "solution") -> str:
    """Of the copy, or of the product that is timed beside all products."""
    result, of = measured(puzzle_id, size)
    return f"{100 * result.share(of, median(puzzle_id, size, name)):.{digits}f} %"


EAGER = "torch eager"
DROPPED = "N = 16384, d = 64, fp16, dropout"
ROWS, VOCABULARY = "N = 8192, fp32", "N = 131072, fp32"
PRODUCT, CUT = "m = 4096, n = 4096, k = 4096, fp16", "m = 4096, n = 4096, k = 4088, fp16"
FULL_BIAS = "N = 4096, d = 64, fp16, a bias for each head, query and key"
DECODING = "N = 131072, d = 64, fp16, a single query"
LONG, CAUSAL, MANY = (f"N = 16384, d = 64, fp16{more}" for more in ("", ", causal", ", 128 heads"))


def trained() -> list[str]:
    """A row for each attention of the capstone's table: thousands of tokens per second."""
    speeds = json.loads((ROOT / "benchmarks" / "results" / "capstone.json").read_text())["speeds"]
    names = dict.fromkeys(name for one in speeds for name in one["tokens"])
    return [" | ".join(f"{one['tokens'][name] / 1e3:.0f}" for one in speeds if name in one["tokens"]) for name in names]


def quoted() -> dict[str, list[str]]:
    """Return what the lessons say, by `speed.json`."""
    result, product = measured("a1", PRODUCT)
    of_torch = median("a1", PRODUCT, "torch.matmul") / median("a1", PRODUCT)
    sizes = [size.name for size in measured("p7", CAUSAL)[0].sizes]
    of_flash = [median("p7", size, "SDPA flash") / median("p7", size) for size in sizes]
    softmax = [share(1, "p1", ROWS), share(0, "p1", ROWS, EAGER)]
    plain = ms(1, "p6", "N = 4096, d = 64, fp16")
    causal = [ms(1, "p6", CAUSAL), ms(0, "p6", CAUSAL, EAGER)]
    dropped = [ms(0, "b2", DROPPED, EAGER), ms(0, "b2", DROPPED)]
    cut = [ms(2, "a1", CUT), ms(2, "a1", PRODUCT)]
    short, long = "N = 128, fp32", "N = 4096, fp32"
    tiled = [share(1, "p4", short), share(1, "p4", short, EAGER), share(0, "p4", long), share(0, "p4", long, EAGER)]
    return {
        "w1": [f"{result.copy:.0f} GB", f"{result.copy / 12:.0f} billion"],
        "w2": [ms(2, "p1", "N = 8192, bf16"), ms(2, "p1", ROWS)],
        "p1": softmax,
        "p2": [share(0, "p2", VOCABULARY), share(0, "p2", VOCABULARY, EAGER)],
        "p3": [share(0, "p3", VOCABULARY), share(0, "p2", VOCABULARY)],
        "p4": tiled,
        "a1": [f"{product.speed(median('a1', PRODUCT)):.0f} TFLOP/s", f"{100 * of_torch:.0f} %", *cut],
        "a2": causal,
        "a3": [ms(0, "a3", LONG), ms(0, "a3", LONG, EAGER), ms(1, "p6", LONG), ms(1, "a3", LONG, "SDPA flash")],
        "p5": [ms(0, "p5", MANY), ms(0, "p5", MANY, EAGER), ms(0, "p5", LONG), ms(0, "p5", LONG, EAGER)],
        "p6": [*causal, ms(1, "p6", LONG), ms(0, "p6", LONG, EAGER), ms(0, "p5", LONG)],
        "a4": [ms(0, "p7", CAUSAL), ms(0, "p7", CAUSAL, EAGER)],
        "b1": [ms(0, "b1", FULL_BIAS, EAGER), ms(1, "b1", FULL_BIAS, "SDPA efficient"), ms(1, "b1", FULL_BIAS), plain],
        "b2": [*dropped, ms(1, "p6", LONG), ms(1, "b2", DROPPED, "SDPA flash")],
        "p7": [ms(0, "p7", CAUSAL), ms(0, "p7", CAUSAL, EAGER), f"{min(of_flash):.2f} and {max(of_flash):.2f}"],
        "b3": [ms(2, "b3", DECODING), share(0, "b3", DECODING)],
    }


@pytest.mark.parametrize("puzzle_id", quoted())
def test_a_lesson_says_at_its_end_what_was_measured(puzzle_id: str) -> None:
    """And once."""
    lesson = " ".join("\n".join(source for _, source in cells(puzzle_id)).split())
    end = " ".join(section("What to notice afterwards", puzzle_id).split())
    assert [one for one in quoted()[puzzle_id] if not end.count(one) == lesson.count(one) == 1] == []


def test_the_capstones_table_is_what_was_measured() -> None:
    lesson = "\n".join(source for _, source in cells("c1"))
    assert all(row in lesson for row in trained())


# Numbers that a pocket calculator can follow.

ROW, VALUES = np.array([1.0, 3.0, 2.0, 5.0]), np.array([10.0, 20.0, 30.0, 40.0])


def online(row: Any) -> list[tuple[float, float, float]]:
    """m, l and the plain sum of the weighted values after each pair of a row, by their definitions."""
    weights = [(row[:n].max(), np.exp(row[:n] - row[:n].max())) for n in (2, 4)]
    return [(m, p.sum(), p @ VALUES[: len(p)]) for m, p in weights]


def biased_numbers() -> list[str]:
    """O and LSE with the lesson's bias, and the gradient of a bias that two heads share."""
    s = ROW + np.array([2.0, 0.0, 1.0, -2.0])
    p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
    log_3, total = np.log(3), np.zeros(2)
    found = [f"= {p @ VALUES:.0f}$", f"{s.max() + np.log(np.exp(s - s.max()).sum()):.3f}", f"{log_3:.4f}"]
    for s, dp in ((np.array([0.0, log_3]), [20.0, 40.0]), (np.array([log_3, log_3]), [8.0, 4.0])):
        lse = np.log(np.exp(s).sum())
        p = np.exp(s - lse)
        ds = p * (dp - p @ dp)
        total += ds
        found += [f"{lse:.4f}", f"{p @ dp:.0f}", *(f"{x:.2f}".rstrip("0").rstrip(".") for x in ds)]
    return [*found, *(f"{x:.2f}" for x in total)]


def worked() -> dict[str, list[str]]:
    (_, l1, o1), (m, l, o) = online(ROW)
    (_, other_l1, _), (_, other_l, _) = online(np.array([4.0, 0.0, 5.0, 1.0]))
    _, (m_hidden, l_hidden, o_hidden) = online(np.array([1.0, 3.0, 2.0, -np.inf]))
    weights, total = np.exp(ROW - m), np.exp([0.5, 3.0, 1.0]).sum()
    alone, past = weights[2:] @ VALUES[2:], l + 4 * np.exp(-m)  # of tile 2; with four keys that do not exist
    parts = [(3 + np.log(l1), o1 / l1), (m + np.log(weights[2:].sum()), alone / weights[2:].sum())]
    share = np.exp(parts[0][0] - parts[1][0])
    split = (
        [f"{lse:.3f}" for lse, _ in parts] + [f"{part:.2f}" for _, part in parts] + [f"{share:.4f}", f"{1 + share:.4f}"]
    )
    merged = [f"{o1:.2f}", f"{o:.2f}", f"{o / l:.2f}", f"{m + np.log(l):.3f}", f"{o_hidden / l_hidden:.2f}"]
    gradients = [f"{np.log(3):.4f}", f"{np.log(4):.4f}", "17.5", "35", "-3.75", f"{3.75 * np.log(3):.2f}"]
    kept = np.array([1.25, 0.0, 1.25, 1.25])
    o1_kept, o_kept = (weights_of * kept[:n] @ VALUES[:n] for n, weights_of in ((2, np.exp(ROW[:2] - 3)), (4, weights)))
    dropped = [f"{o1_kept:.2f}", f"{o_kept:.2f}", f"{o_kept / l:.2f}", f"{m + np.log(l):.3f}", "0.625", "4.69", "6.25"]
    return {
        "b2": [*dropped, f"{o / l:.2f}", str((1 * 4 + 1) * 6 + 4), f"{0.25 * 18.75:.2f}"],
        "p1": [f"{total:.1f}", f"{total + 1:.1f}", f"{total / (total + 1):.2f}"],
        "p2": [f"{l:.4f}", *(f"{weight:.3f}"[1:] for weight in weights / l)],
        "p3": [f"{l1:.4f}", f"{round(l1, 4) * 0.1353:.4f}", f"{weights[2:].sum():.4f}", f"{l:.4f}"],
        "p4": [f"({l1:.2f}, {other_l1:.2f}) to ({l:.2f}, {other_l:.2f})"],
        "a2": merged,
        "a3": [*(f"{weight:.4f}" for weight in weights / l), f"{o / l:.2f}", f"{past:.2f}", f"{o / past:.2f}"],
        "p5": [f"{l1:.4f}", f"{o1 / l1:.2f}", f"{alone:.2f}", f"{o / l:.2f}", f"{l:.4f}"],
        "p6": [*merged, f"{l_hidden:.4f}", f"{m_hidden + np.log(l_hidden):.3f}"],
        "a4": gradients,
        "b1": [f"{o / l:.2f}", f"{m + np.log(l):.3f}", *biased_numbers()],
        "p7": gradients,
        "b3": [*split, f"{o1:.2f}", f"{o:.2f}", f"{o / l:.2f}", f"{m + np.log(l):.3f}"],
    }


@pytest.mark.parametrize("puzzle_id", worked())
def test_worked_numbers_are_right(puzzle_id: str) -> None:
    text = before("Your turn", puzzle_id)
    missing = [number for number in worked()[puzzle_id] if number not in text]
    assert not missing
