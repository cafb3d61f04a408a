"""Every puzzle has its files, and they agree with each other."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

from checker import catalog
from checker.catalog.numbers import FINITE
from checker.check import Conditions, check
from checker.check.steps import Check
from checker.course import ladder
from checker.course.case import Case, Role
from checker.course.language import ENGLISH
from checker.course.lesson import emptied, span, stubs_text
from checker.course.localised import languages, notebook_in
from checker.course.misconception import Writes
from checker.course.places import notebook, solution, start, stubs
from checker.course.puzzle import Draw, Puzzle
from checker.course.space import points
from checker.course.verdict import Status
from checker.publish.build import language_of, page_text
from checker.publish.bundle import PAGES
from checker.publish.hosted import hosted
from checker.publish.start import start_notebook
from checker.sandbox.protocol.records import is_size
from checker.submission.read import from_file
from tests.conftest import ROOT, STEMS_OF_KERNELS, check_path, ran

STEMS = ladder.stems()
LINK = re.compile(r"\]\(([^)\s]+)\)")
NO_PROSE = re.compile(r"^```.*?^```|`[^`]*`|\$[^$]*\$", re.DOTALL | re.MULTILINE)
every_puzzle = pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())


def stub(puzzle_id: str) -> Path:
    return ROOT / "puzzles" / f"{STEMS[puzzle_id]}.py"


def shipped_stub(puzzle_id: str, tmp_path: Path) -> Path:
    """The stub as it was shipped, even if a student has filled in the one in the folder."""
    text = stub(puzzle_id).read_text()
    if text.count("FILL IN") < len(catalog.load(puzzle_id).kernels):
        pytest.skip(f"{stub(puzzle_id).name} has been filled in, and its FILL IN mark is gone")
    path = tmp_path / stub(puzzle_id).name
    path.write_text(emptied(text, catalog.load(puzzle_id)))
    return path


class _Asked(Exception):
    """Requests to a sandbox."""


class _Box:
    """It only tells what it is asked to run."""

    def run(self, *asked: object) -> None:
        raise _Asked(*asked)


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS, ids=STEMS_OF_KERNELS.values())
def test_a_grid_on_a_gpu_may_have_more_programs_than_can_be_listed(puzzle_id: str) -> None:
    with pytest.raises(_Asked) as told:
        Check(catalog.load(puzzle_id), from_file(solution(puzzle_id)), Conditions(device="cuda")).run(_Box())  # type: ignore[arg-type]
    _, _, launches, passes = told.value.args
    assert {number for one in passes for number, _ in one} == set(range(len(launches)))
    assert not any(len(order) for one in passes for _, order in one)


def test_no_file_is_stray() -> None:
    in_chinese = [puzzle_id for puzzle_id in STEMS if languages(puzzle_id)]
    for folder, kind, names in (
        ("puzzles", "py", STEMS.values()),
        ("puzzles/zh", "py", map(STEMS.get, in_chinese)),
        ("solutions", "py", STEMS.values()),
        ("notebooks", "ipynb", ["00_start_here", *map(ladder.numbered, STEMS)]),
        ("notebooks/zh", "ipynb", ["00_start_here", *map(ladder.numbered, in_chinese)]),
        ("checker/learner/stubs", "py", STEMS.values()),
    ):
        paths = (path for path in (ROOT / folder).glob("*") if path.is_file() and ".bak" not in path.name)
        others = {".md", ".toml"}  # tests/test_walk_throughs.py and tests/learner/test_bugs.py know of them
        found = {path.name for path in paths if path.suffix not in others}
        assert found == {f"{name}.{kind}" for name in names}


@every_puzzle
def test_the_notebook_is_up_to_date(puzzle_id: str) -> None:
    """Compared outside the kernels, which are the student's to fill in."""
    names = [kernel.name for kernel in catalog.load(puzzle_id).kernels]

    def cells(text: str) -> list[str]:
        found = json.loads(text)["cells"]
        texts = ("".join(cell["source"]) + json.dumps(cell.get("attachments", {})) for cell in found)
        return [text for text in texts if not any(f"def {name}" in text for name in names)]

    there = notebook(puzzle_id).read_text()
    lesson = notebook_in(ENGLISH, stub(puzzle_id).read_text(), catalog.load(puzzle_id))
    assert cells(there) == cells(hosted(lesson, notebook(puzzle_id).name)), "run: python -m checker build"
    assert len(there.encode()) < 60_000


def test_the_first_notebook_is_up_to_date() -> None:
    assert start().read_text() == hosted(start_notebook(), start().name), "run: python -m checker build"
    assert all(
        call in start().read_text() for call in ("step(", "trace(", "hint(", "predict(", "progress()", "check()")
    )
    shown = [notebook(puzzle_id).name for puzzle_id in ladder.ORDER]
    assert re.findall(r"\| \[\w\d\]\(([^)]+)\)", start().read_text()) == shown


def test_links_in_notebooks_lead_somewhere() -> None:
    """To notebooks and pages beside them, and to figures that they carry."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
            shown = {target.partition(":")[2] for target in LINK.findall(text) if target.startswith("attachment:")}
            assert shown == cell.get("attachments", {}).keys(), path.name
            for target in LINK.findall(NO_PROSE.sub("", text)):
                if not target.startswith(("attachment:", "https://")):
                    there = path.parent / target.partition("#")[0]
                    assert there.exists() and there.suffix in (".ipynb", ".md"), (path.name, target)


@every_puzzle
def test_the_shipped_stubs_are_up_to_date(puzzle_id: str, tmp_path: Path) -> None:
    text = shipped_stub(puzzle_id, tmp_path).read_text()
    made = stubs_text(text, catalog.load(puzzle_id), solution(puzzle_id).read_text())
    assert stubs(puzzle_id).read_text() == made, "run: python -m checker build"


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_up_to_date(name: str) -> None:
    page = (ROOT / name).read_text()
    assert page == page_text(page, language=language_of(ROOT / name)), "run: python -m checker build"


def test_the_readme_lists_every_puzzle() -> None:
    for stem in STEMS.values():
        assert f"](puzzles/{stem}.py)" in (ROOT / "README.md").read_text()


@every_puzzle
def test_the_module_is_what_its_name_says(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    assert (puzzle.id, puzzle.stem) == (puzzle_id, STEMS[puzzle_id])
    assert {kernel.pytorch for kernel in puzzle.kernels} == {puzzle.pytorch}  # the registry is read before the catalog
    assert puzzle.possible == 100


@every_puzzle
def test_the_stub_is_not_started(puzzle_id: str, tmp_path: Path) -> None:
    verdict = check(puzzle_id, from_file(shipped_stub(puzzle_id, tmp_path))).verdict
    assert verdict.status is Status.NOT_STARTED
    assert verdict.earned == 0


FILLED_IN = ["x = 1", "", "# a thought", "y = (2", "", "# another, at the end"]


@every_puzzle
@pytest.mark.parametrize("barrier", [False, True], ids=["as it ends", "with a barrier inside"])
def test_what_was_filled_in_can_be_emptied(puzzle_id: str, barrier: bool, tmp_path: Path) -> None:
    """Whatever it was, even if Python cannot read it; and what the stub itself ends with stays."""
    given = shipped_stub(puzzle_id, tmp_path).read_text().split("\n")
    filled = []
    for line in given:
        filled.append(line)
        if "FILL IN" in line:
            depth = line[: -len(line.lstrip())]
            filled += [depth + more if more else "" for more in FILLED_IN]
            filled += [f"{depth}    tl.debug_barrier()", f"{depth}z = 1"] if barrier else []
    assert emptied("\n".join(filled), catalog.load(puzzle_id)).split("\n") == given


@every_puzzle
def test_the_notebook_has_the_same_stub(puzzle_id: str, tmp_path: Path) -> None:
    cells = json.loads(notebook(puzzle_id).read_text())["cells"]
    code = "\n\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    if code.count("FILL IN") < len(catalog.load(puzzle_id).kernels):
        pytest.skip("the notebook has been filled in, and its FILL IN mark is gone")
    there, script = (
        emptied(code, catalog.load(puzzle_id)).split("\n"),
        shipped_stub(puzzle_id, tmp_path).read_text().split("\n"),
    )
    for kernel in catalog.load(puzzle_id).kernels:
        in_notebook, in_script = span(there, kernel.name), span(script, kernel.name)
        assert in_notebook and in_script
        assert [there[n] for n in in_notebook] == [script[n] for n in in_script]


@every_puzzle
def test_the_solution_is_accepted(puzzle_id: str) -> None:
    verdict = check_path(ROOT / "solutions" / f"{STEMS[puzzle_id]}.py")
    assert verdict.accepted, verdict.findings
    # What the site says of it beside a learner's own.
    assert all((t.loads, t.stores) == (t.most_loads, t.most_stores) for t in verdict.runs[0].traffic)


@every_puzzle
def test_the_solution_only_adds_lines_to_the_stub(puzzle_id: str, tmp_path: Path) -> None:
    """So a student can reach it by filling in, and the stub never leads astray."""

    def kernel_lines(path: Path) -> dict[str, list[str]]:
        functions = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
        return {f.name: ast.unparse(f).split("\n") for f in functions}

    shipped = shipped_stub(puzzle_id, tmp_path)
    text, given = shipped.read_text().split("\n"), kernel_lines(shipped)
    solved = kernel_lines(ROOT / "solutions" / f"{STEMS[puzzle_id]}.py")
    for kernel in catalog.load(puzzle_id).kernels:
        remaining = iter(solved[kernel.name])
        assert all(line in remaining for line in given[kernel.name]), kernel.name
        own = "\n".join(text[number] for number in span(text, kernel.name) or ())
        promised = re.search(r"FILL IN \(roughly (\d+) lines\)", own)
        missing = len(solved[kernel.name]) - len(given[kernel.name])
        assert promised and abs(int(promised[1]) - missing) <= missing / 10, f"{kernel.name}: {missing} lines"


@every_puzzle
def test_cases_name_real_properties_and_every_property_is_proven(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    for key in ("practice", "another"):
        cases = puzzle.cases(puzzle.draw(key))
        assert len({case.name for case in cases}) == len(cases)
        assert {name for case in cases for name in case.proves} == {p.name for p in puzzle.properties}
        for case in cases:
            kernel = next(k for k in puzzle.kernels if k.name == case.kernel)
            returned = {name for name, tensor in case.tensors.items() if kernel.pytorch and tensor.role is Role.OUTPUT}
            given = {*case.tensors, *case.scalars, *case.constexprs} - returned
            own = {*kernel.parameters} - {"ctx"}
            assert given == own or (kernel.launches and given >= own)  # the functions before it get theirs
            assert kernel.pytorch or set(case.constexprs) == set(kernel.constexprs)


def at_points(puzzle: Puzzle, draw: Draw, written: Sequence[float]) -> Iterator[Case]:
    """Launches at some of the cheaper points, with their numbers."""
    for space in puzzle.spaces.values():
        random = draw.case("points")
        some = points(space, random, written)
        for point in range(0, 2000, 50):
            drawn = {name: int(values[point]) for name, values in some.drawn.items()}
            yield space.case("a point", drawn, {name: float(x[point]) for name, x in some.numbers.items()}, random)


@pytest.mark.parametrize("puzzle_id", STEMS)
def test_every_misconception_is_told_from_the_right_answer(puzzle_id: str) -> None:
    """A model that equals the reference in all cases, and in launches around numbers, could never be named."""
    from checker.judge.compare import wrong_elements

    puzzle = catalog.load(puzzle_id)
    draw, right = puzzle.draw(), cache(puzzle.expected)
    cases = puzzle.cases(draw)
    for misconception in puzzle.misconceptions:
        assert misconception.hint and misconception.explanation
        for sign in misconception.signs:
            if not isinstance(sign, Writes):
                continue
            with np.errstate(all="ignore"):
                differs = any(
                    wrong_elements(np.asarray(value), right(case)[name]).any()
                    for launches in (lambda: cases, lambda: at_points(puzzle, draw, FINITE))
                    for case in launches()
                    for name, value in sign.outputs(case).items()
                )
            assert differs, misconception.title


@pytest.mark.parametrize("key", ("autumn", "winter", "spring", "summer"))
@pytest.mark.parametrize("puzzle_id", STEMS)
def test_what_a_mistake_writes_has_the_shape_of_the_output_at_any_size(puzzle_id: str, key: str) -> None:
    """Also where tiles are empty, in the cases of any key and at points of the puzzle's spaces."""
    puzzle = catalog.load(puzzle_id)
    draw = puzzle.draw(key)
    for case in (*puzzle.cases(draw), *at_points(puzzle, draw, (7, 64, 200))):
        if max(tensor.values.size for tensor in case.tensors.values()) > 4000:
            continue
        for misconception, sign in ((m, sign) for m in puzzle.misconceptions for sign in m.signs):
            if isinstance(sign, Writes):
                with np.errstate(all="ignore"):
                    written = sign.outputs(case)
                for name, values in written.items():
                    assert np.shape(values) == case.tensors[name].values.shape, (misconception.title, case.name, name)


NO_SIZES = {"heads", "seed", "keys_per_split", "splits"}  # products of these are looked at by no rule


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_a_number_is_a_stride_or_a_size_whose_products_are_watched(puzzle_id: str) -> None:
    """By its name, as `is_size` has it: a puzzle that calls its length otherwise would lose that and never know."""
    parameters = {name for kernel in catalog.load(puzzle_id).kernels for name in kernel.parameters}
    numbers = {
        name
        for case in catalog.load(puzzle_id).cases(catalog.load(puzzle_id).draw())
        for name, value in case.scalars.items()
        if not isinstance(value, float)
    }
    assert numbers <= parameters
    assert {name for name in numbers if not (name.endswith("_stride") or is_size(name))} <= NO_SIZES


# What runs on a GPU, in processes of its own, and what trains. Nothing else may wait for torch.
WITH_TORCH = {
    f"sandbox/inside/{name}.py"
    for name in ("autograd", "fake_gpu", "functions", "launching", "own", "own_kernels", "pytorch")
}
WITH_TORCH |= {"bench/inside/child.py", "bench/inside/peers.py"}
WITH_TORCH |= {"train/kernels.py", "train/run.py", "train/session.py", "train/speed.py"}
BEHIND_THE_WALL = {*sys.stdlib_module_names, "checker", "numpy", "triton", "torch"}


def test_catalogs_know_nothing_of_solutions() -> None:
    stubs = ROOT / "checker" / "learner" / "stubs"
    for path in {*(ROOT / "checker").rglob("*.py")} - {*stubs.glob("*.py")}:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            forbidden = {"solutions", "tests"} | (
                set() if path.relative_to(ROOT / "checker").as_posix() in WITH_TORCH else {"torch"}
            )
            assert not any(name.split(".")[0] in forbidden for name in names), path


def test_the_sandbox_imports_no_other_room() -> None:
    """Nor does the process that times kernels, which is told launches as data."""
    sandbox, timing = (sorted((ROOT / "checker" / room).rglob("*.py")) for room in ("sandbox", "bench/inside"))
    for path in (*sandbox, *timing):
        behind_the_wall = not {"inside", "protocol"}.isdisjoint(path.parts)
        own = ("checker.sandbox.inside", "checker.sandbox.protocol") if behind_the_wall else ("checker.sandbox",)
        own = (*own, "checker.bench.inside") if path in timing else own
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("checker"):
                assert node.module.startswith(own), f"{path.name} imports {node.module}"
            if isinstance(node, ast.Import | ast.ImportFrom) and behind_the_wall:
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                assert {name.split(".")[0] for name in names} <= BEHIND_THE_WALL, f"{path.name} imports {names}"


@cache
def imported() -> dict[str, set[str]]:
    """The modules of the checker that each of them imports, also inside a function, or for types alone."""
    modules = {}
    for path in {*(ROOT / "checker").rglob("*.py")} - {*(ROOT / "checker" / "learner" / "stubs").glob("*.py")}:
        modules[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    files: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module and not node.level, path
                inside = (f"{node.module}.{one.name}" for one in node.names)
                found |= {name if name in modules else node.module for name in inside}
            elif isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
        files[name] = found & modules.keys() - {name}
    return files


def test_neither_files_nor_rooms_import_each_other_in_a_circle() -> None:
    rooms: dict[str, set[str]] = {}
    for name, others in imported().items():
        room = ".".join(name.split(".")[:2])
        rooms.setdefault(room, set()).update(".".join(one.split(".")[:2]) for one in others)
        rooms[room].discard(room)
    for graph in (imported(), rooms):
        TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("module", ["checker.commands.cli", "checker.answers.child"])
def test_what_starts_a_sandbox_imports_nothing_slow_before(module: str) -> None:
    """So the sandbox imports Triton while the judge imports NumPy."""
    slow = "{'numpy', 'triton', 'IPython'} & sys.modules.keys()"
    ran(sys.executable, "-c", f"import sys, {module}; sys.exit(str({slow}) if {slow} else 0)", ends=0)


WHOLE_FILES = re.compile(r"checker\.(check\.own|catalog\.own(\..*)?|sandbox\.inside\.own\w*)")
BELOW = {"course", "check", "judge", "sandbox", "catalog", "submission", "report"}


def test_what_judges_whole_files_is_imported_by_commands_and_answers_alone() -> None:
    for name, others in imported().items():
        if WHOLE_FILES.fullmatch(name):
            assert {one.split(".")[1] for one in others - {"checker"}} <= BELOW, name
        elif any(WHOLE_FILES.fullmatch(one) for one in others):
            assert name.split(".")[1] in ("commands", "answers"), name
