"""What puzzles about a row-wise softmax share: how rows are laid out, the reference, the tolerance.

All of them get `x_ptr` and `y_ptr`, shape (rows, n_cols), with a row stride each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from checker.catalog import covering
from checker.course.puzzle import (
    Array,
    Axis,
    Budget,
    Case,
    Draw,
    Expected,
    Invariant,
    Kernel,
    Misconception,
    Moved,
    Outputs,
    Pictured,
    Role,
    Tensor,
    as_bf16,
    blank,
)

FAR_APART = 2**30  # elements between rows, and more: row 2 begins beyond int32, row 4 beyond uint32
EPS32 = float(np.finfo(np.float32).eps)


def launch(
    kernel: Kernel,
    name: str,
    proves: tuple[str, ...],
    x: Array,
    blocks: Mapping[str, int],
    gaps: tuple[int, int] = (24, 24),
    kinds: tuple[str, ...] = (),
    bf16: bool = False,
    once: bool = False,
) -> Case:
    """One launch of a softmax kernel: a program per row, or per BLOCK_ROWS rows if there is such a block.

    `gaps` are the elements between the rows of x and of y; from 2**30 on they are the strides, and
    arithmetic is checked. `kinds` say what the rows hold. `once`: chosen for its sizes.
    """
    count, n = x.shape
    strides = [gap if gap >= FAR_APART else n + gap for gap in gaps]
    scalars = {"x_row_stride": strides[0], "y_row_stride": strides[1], "n_rows": count, "n_cols": n}
    sizes = ", ".join(f"{block}={size}" for block, size in blocks.items())
    axes = (
        Axis("row", blocks.get("BLOCK_ROWS", 0), kinds),
        Axis("column", blocks.get("BLOCK_COLS", 0) or blocks["BLOCK_SIZE"]),
    )
    far = strides[0] >= FAR_APART
    return Case(
        name=f"{name} ({count} x {n}, {sizes})",
        kernel=kernel.name,
        proves=proves,
        grid=(-(-count // blocks.get("BLOCK_ROWS", 1)),),
        tensors={
            "x_ptr": Tensor(x, (strides[0], 1), axes=axes, bf16=bf16),
            "y_ptr": Tensor(blank(x.shape, x.dtype, np.nan), (strides[1], 1), Role.OUTPUT, axes, bf16),
        },
        scalars={scalar: value for scalar, value in scalars.items() if scalar in kernel.parameters},
        constexprs=blocks,
        checked_arithmetic=far,
        telling=not far and n > 1 and not once,
        once=far or once,
    )


def hard_rows(random: np.random.Generator, n: int, block: int, offset: float = 1e4) -> dict[str, Array]:
    """Rows of more than three blocks, as a safe softmax must be able to do them; name → values."""
    columns = np.arange(n)

    def normal(sigma: float = 1.0, mean: float = 0.0) -> Array:
        return random.normal(mean, sigma, n)

    def peak(position: int) -> Array:
        return np.where(columns == position, 150.0, normal())  # exp(150) is infinite: a maximum that misses it shows

    return {
        "normal, sigma 1": np.where(columns == 3, 0.0, normal()),  # a 0 is a number like any other
        "normal, sigma 4": normal(4.0),
        f"normal around +{offset:g}": normal(1.0, offset),
        f"normal around -{offset:g}": normal(1.0, -offset),
        "maximum in the first block": peak(int(random.integers(block))),
        "maximum in the middle": peak(block + int(random.integers(block))),
        "maximum in the last whole block": peak(n // block * block - 1 - int(random.integers(block))),
        "maximum in the tail": peak(n - 1),
        "ascending": np.linspace(-8, 8, n),
        "descending": np.linspace(8, -8, n),
        "all equal": np.full(n, float(random.integers(1, 9))),
        "one entry -inf": np.where(columns == random.integers(n), -np.inf, normal()),
        "one-hot": np.where(columns == random.integers(n), 30.0, -30.0),
        "normal around -20": normal(1.0, -20.0),
        "steeply ascending": np.linspace(-9 * offset, 9 * offset, n),
        "steeply descending": np.linspace(9 * offset, -9 * offset, n),
        "small whole numbers": random.integers(-3, 4, n).astype(float),
        "0, then around -200": np.where(columns == 0, 0.0, normal(1.0, -200.0)),
        f"normal around -{10 * offset:g}": normal(1.0, -10 * offset),
    }


def equal_gaps(random: np.random.Generator) -> tuple[int, int]:
    """x and y padded alike, by any number of elements."""
    gap = int(random.integers(1, 64))
    return gap, gap


def unequal_gaps(random: np.random.Generator, base: int = 0) -> tuple[int, int]:
    """x and y padded differently; `base` more than drawn, and never by a power of two."""
    x, y = (base + int(gap) for gap in random.choice(np.arange(3, 128, 2), 2, replace=False))
    return x, y


def safe_cases(kernel: Kernel, random: Callable[[str], np.random.Generator], blocks: Mapping[str, int]) -> list[Case]:
    """Cases of every softmax that subtracts the maximum and walks its rows in blocks of columns.

    They prove the properties `values`, `any-length`, `strides`, `half`, `far-rows` and `traffic`.
    """
    block = blocks.get("BLOCK_COLS", 0) or blocks["BLOCK_SIZE"]

    def normal(name: str, count: int, n: int) -> Array:
        return random(name).normal(0.0, 2.0, (count, n)).astype(np.float32)

    kinds = hard_rows(random("kinds"), 3 * block + 1, block)
    half = hard_rows(random("half"), 2 * block + 3, block, offset=200.0)
    of_half = ("normal, sigma 1", "maximum in the tail", "normal around +200")
    gaps = random("gaps")
    one = {**blocks, [*blocks][-1]: 1}  # column in a block

    def case(name: str, proves: tuple[str, ...], x: Array, **facts: object) -> Case:
        facts.setdefault("gaps", equal_gaps(gaps))
        return launch(kernel, name, proves, x, blocks, **facts)  # type: ignore[arg-type]

    low = normal("low", 2, 3 * block) - np.array([[500], [5000]], np.float32)
    whole = np.concatenate([normal("whole", 2, 3 * block), low])
    short = normal("short", 4, block - 7) + np.array([[0], [0], [500], [-5000]], np.float32)
    return [
        case("three whole blocks", ("any-length", "traffic"), whole, gaps=(0, 0)),
        case("seven short of a block", ("any-length",), short),
        case("one short of two blocks", ("any-length",), normal("two", 2, 2 * block - 1)),
        case("a single column", ("any-length",), normal("one", 2, 1)),
        case(
            "every kind of row", ("values", "traffic"), np.stack([*kinds.values()]).astype(np.float32), kinds=(*kinds,)
        ),
        case("x and y strided differently", ("strides",), normal("strides", 3, 2 * block + 1), gaps=unequal_gaps(gaps)),
        case("fp16", ("half",), np.stack([half[r] for r in of_half]).astype(np.float16), kinds=of_half),
        case("fp16, a single column", ("half",), normal("one", 2, 1).astype(np.float16), once=True),
        case("fp16, every kind of row", ("half",), np.stack([*half.values()]).astype(np.float16), once=True),
        *far_cases(kernel, random("far"), blocks, block + 5),
        *_of_every_length(kernel, random("lengths"), blocks),
        *_of_real_size(kernel, random("real"), {**blocks, [*blocks][-1]: 1024}),
        many_blocks(kernel, random("blocks"), {**blocks, [*blocks][-1]: 4}),
        launch(kernel, "as many rows as columns", ("any-length",), normal("alike", 5, 5), one, (0, 0), once=True),
        tall_case(kernel, random("tall"), blocks),
    ]


def far_cases(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int], longest: int = 5) -> list[Case]:
    """Rows whose offsets pass the range of 32-bit integers, in fp32 and fp16; and strides that pass it themselves."""
    further = far_case(kernel, random, blocks, name="rows more than 2**31 apart", far=2 * FAR_APART)
    return [
        far_case(kernel, random, blocks, n=longest),
        far_case(kernel, random, blocks, np.float16, "fp16, rows more than 2**30 apart"),
        replace(further, checked_arithmetic=False),
    ]


def far_case(
    kernel: Kernel,
    random: np.random.Generator,
    blocks: Mapping[str, int],
    dtype: npt.DTypeLike = np.float32,
    name: str = "rows more than 2**30 apart",
    far: int = FAR_APART,
    n: int = 5,
) -> Case:
    """Six rows, so far apart that offsets pass the range of 32-bit integers, also of unsigned ones."""
    x = random.normal(0.0, 2.0, (6, n)).astype(dtype)
    return launch(kernel, name, ("far-rows",), x, blocks, unequal_gaps(random, far))


def _of_every_length(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> list[Case]:
    """Columns of every class by their block, in one and in several; with tiles of rows, rows of every class as well.

    Between them x and y lie in every way that two tensors can, in fp32 and in fp16.
    """
    columns = covering.lengths([*blocks.values()][-1], random)
    if "BLOCK_ROWS" not in blocks:
        more = covering.lengths(blocks["BLOCK_SIZE"], random)[4:]  # so that two tensors lie in every way
        sizes = [*((int(random.integers(1, 4)), n) for n in columns), *((int(random.integers(4, 7)), n) for n in more)]
    else:
        counts = covering.lengths(blocks["BLOCK_ROWS"], random)
        of = [(row, column) for row in range(4) for column in range(4)]
        # Which of the two is long is arranged so that every pair of classes and lengths occurs.
        sizes = [(counts[r + 4 * ((r + c) % 2)], columns[c + 4 * ((r // 2 + c // 2) % 2)]) for r, c in of]
    made = []
    for (count, n), (layout, on) in zip(sizes, covering.besides(len(sizes), random), strict=True):
        tail = "row-tail" if count % blocks.get("BLOCK_ROWS", 1) else "any-length"
        made.append(of_length(kernel, tail, (count, n), blocks, layout, bool(on & covering.HALF), random))
    return list({case.name: case for case in made}.values())


def of_length(
    kernel: Kernel,
    proves: str,
    size: tuple[int, int],
    blocks: Mapping[str, int],
    layout: int,
    half: bool,
    random: np.random.Generator,
) -> Case:
    """Rows of this size, with x and y in one of `covering`'s layouts; padding makes whole blocks of rows."""
    x = random.normal(0.0, 2.0, size).astype(np.float16 if half else np.float32)
    x_gap, y_gap = covering.gaps(layout, random)
    if layout in (covering.FIRST_PADDED, covering.SECOND_PADDED):
        whole = -size[1] % [*blocks.values()][-1] or [*blocks.values()][-1]
        x_gap, y_gap = (whole, 0) if layout == covering.FIRST_PADDED else (0, whole)
    name = "fp16, every length" if half else "every length"
    return launch(kernel, name, ("half" if half else proves,), x, blocks, (x_gap, y_gap), once=True)


def _of_real_size(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> list[Case]:
    """Rows of 20,000 columns in blocks as on a GPU, in fp32 and in fp16.

    One has its maximum near the end; one rises by `RISE` from block to block.
    """
    made = []
    for dtype, proves in ((np.float32, "any-length"), (np.float16, "half")):
        x = random.normal(0.0, 2.0, (3, 20_000 + int(random.integers(1, 400)))).astype(dtype)
        x[1, -int(random.integers(1, 3000))] = 150
        x[2] += (np.arange(x.shape[1]) // [*blocks.values()][-1] * RISE).astype(dtype)
        name = f"long rows, {np.dtype(dtype)}"
        made.append(launch(kernel, name, (proves,), x, blocks, equal_gaps(random), once=True))
    return made


def sampled(case: Case, programs: tuple[int, ...]) -> Case:
    """The launch with these of its programs only."""
    rows = np.arange(case.tensors["y_ptr"].values.shape[0])[:, None]
    asked = np.isin(rows // int(case.constexprs.get("BLOCK_ROWS", 1)), programs)
    return replace(case, programs=programs, asked={"y_ptr": np.broadcast_to(asked, case.tensors["y_ptr"].values.shape)})


def many_blocks(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> Case:
    """A row of more columns than blocks of 4 to the third power have; where there are tiles of rows, of one row."""
    blocks = {**blocks, **({"BLOCK_ROWS": 1} if "BLOCK_ROWS" in blocks else {})}
    x = random.normal(0.0, 2.0, (1, int(random.integers(290, 330)))).astype(np.float32)
    return launch(kernel, "many blocks", ("any-length",), x, blocks, equal_gaps(random), once=True)


def tall_case(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> Case:
    """The first and the last program of some 135,000 rows, and one between: more rows than 16 bits can count."""
    owned = blocks.get("BLOCK_ROWS", 1)
    programs = 0, int(random.integers(70_000, 120_000)) // owned, int(random.integers(132_000, 140_000)) // owned
    x = np.zeros((programs[-1] * owned + owned, int(random.integers(3, 9))), np.float32)
    for program in programs:
        own = slice(program * owned, (program + 1) * owned)
        x[own] = random.normal(0.0, 2.0, x[own].shape)
    name = f"programs {', '.join(map(str, programs))} of {programs[-1] + 1}"
    return sampled(launch(kernel, name, ("any-length",), x, blocks, gaps=(0, 0), once=True), programs)


RISE = 100.0  # its exponential is more than fp32 can hold
SMALL_TERM = np.log(0.9 * 2.0**-10)  # a block of its exponentials, added to two blocks of ones in fp16, is lost


def long_sums(random: np.random.Generator, count: int, n: int, block: int) -> Array:
    """fp16 rows whose sum is one of many small terms: in half, all but the first two blocks are lost."""
    x = random.normal(SMALL_TERM, 0.05, (count, n))
    x[:, : 2 * block] = 0.0
    return np.asarray(x.astype(np.float16))


def long_sum_case(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> Case:
    """An fp16 row of 12 blocks and a tail; proves the property `half`."""
    block = blocks.get("BLOCK_COLS", 0) or blocks["BLOCK_SIZE"]
    return launch(
        kernel,
        "fp16, a sum of small terms",
        ("half",),
        long_sums(random, 1, 12 * block + 3, block),
        blocks,
        equal_gaps(random),
        once=True,
    )


def large_cases(kernel: Kernel, blocks: Callable[[int], Mapping[str, int]]) -> Callable[[Draw], list[Case]]:
    """For a GPU: long rows, many rows, far rows, bf16. `blocks(n)` are the constexprs for rows of n."""

    def cases(draw: Draw) -> list[Case]:
        def normal(name: str, count: int, n: int) -> Array:
            return draw.case(name).normal(0.0, 2.0, (count, n)).astype(np.float32)

        long, many, bf16 = normal("long", 5, 10_007), normal("many", 3001, 300), as_bf16(normal("bf16", 70, 2500))
        return [
            launch(kernel, "long rows", ("any-length",), long, blocks(10_007)),
            launch(kernel, "many rows", ("any-length",), many, blocks(300)),
            launch(kernel, "bf16", ("half",), bf16, blocks(2500), bf16=True),
            far_case(kernel, draw.case("far"), blocks(5), np.float16),
        ]

    return cases


def pictured(kernel: Kernel, name: str, shape: tuple[int, int], blocks: Mapping[str, int], tail: int = 3) -> Pictured:
    """For pictures: one launch of rows and columns that the blocks divide, but for a tail that is so much shorter."""
    count, n = shape[0], shape[1] - tail

    def cases(draw: Draw) -> list[Case]:
        x = draw.case("pictured").normal(0.0, 2.0, (count, n)).astype(np.float32)
        return [launch(kernel, name, (), x, blocks, gaps=(16, 40))]

    return Pictured(cases)


def row_input(case: Case) -> Array:
    """The case's x in float64, shape (rows, n_cols)."""
    return case.tensors["x_ptr"].values.astype(np.float64)


def softmax(x: Array) -> Array:
    """Softmax over the last axis in the precision of `x`."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def empty_blocks(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> list[Case]:
    """Blocks of nothing but -inf at the beginning of rows, for the property `prefix`, and elsewhere; in fp16 too."""
    block = blocks.get("BLOCK_COLS", 0) or blocks["BLOCK_SIZE"]
    x, columns = random.normal(0.0, 2.0, (4, 5 * block + 3)), np.arange(5 * block + 3)
    elsewhere = {
        "-inf in the second block": columns // block == 1,
        "-inf from the second block on": columns >= block,
        "-inf in blocks 2 and 4": np.isin(columns // block, [1, 3]),
        "-inf for a block and a half": (columns >= block + 2) & (columns < 5 * block // 2 + 2),
    }
    x[np.stack([*elsewhere.values()])] = -np.inf
    first, kinds = prefix_case(kernel, random, blocks), (*elsewhere,)
    small = {**blocks, **({"BLOCK_ROWS": 1} if "BLOCK_ROWS" in blocks else {}), [*blocks][-1]: 4}
    long = np.where(np.arange(100) < 4 * int(random.integers(17, 22)), -np.inf, random.normal(0.0, 2.0, (1, 100)))
    return [
        first,
        launch(kernel, "many blocks of -inf", ("prefix",), long.astype(np.float32), small, once=True),
        launch(kernel, "blocks of -inf", ("values",), x.astype(np.float32), blocks, kinds=kinds),
        launch(kernel, "fp16, blocks of -inf", ("half",), x.astype(np.float16), blocks, kinds=kinds, once=True),
        launch(
            kernel,
            "fp16, beginning with -inf",
            ("half",),
            first.tensors["x_ptr"].values.astype(np.float16),
            blocks,
            once=True,
        ),
    ]


def prefix_case(kernel: Kernel, random: np.random.Generator, blocks: Mapping[str, int]) -> Case:
    """Rows whose first blocks hold nothing but -inf; proves the property `prefix`."""
    block = blocks.get("BLOCK_COLS", 0) or blocks["BLOCK_SIZE"]
    kinds = {
        "-inf for one block": block,
        "-inf for two blocks": 2 * block,
        "-inf for a block and a half": 3 * block // 2,
    }
    kinds["-inf for one block, then around -200"] = block
    x = random.normal(0.0, 2.0, (len(kinds), 3 * block + 5))
    x[-1] -= 200.0
    for row, length in enumerate(kinds.values()):
        x[row, :length] = -np.inf
    return launch(kernel, "beginning with -inf", ("prefix",), x.astype(np.float32), blocks, kinds=(*kinds,))


def expected(case: Case) -> Mapping[str, Expected]:
    """The softmax of x, and what a right kernel in fp32 may differ by.

    An exponential of a rounded argument x errs by about |x|·eps, hence the tolerance grows with the
    largest finite |x| of a row; then the sum is rounded once a block, all in one direction if the terms are alike, and
    the result twice to the output's type; and that has a smallest step.
    """
    x = row_input(case)
    y = case.tensors["y_ptr"]
    blocks = -(-x.shape[1] // (y.axes[1].block or x.shape[1]))
    values = softmax(x)
    magnitude = np.max(np.abs(x), axis=-1, keepdims=True, where=np.isfinite(x), initial=0.0)
    relative = EPS32 * (16 + 4 * magnitude + blocks) + 2 * y.eps
    return {"y_ptr": Expected(values, values * relative + max(y.smallest, 1e-30))}


def budget(sweeps: int) -> Callable[[Case], Mapping[str, Budget]]:
    """Traffic of a softmax that reads x `sweeps` times and writes y once, neither in small pieces."""

    def of(case: Case) -> Mapping[str, Budget]:
        x = case.tensors["x_ptr"]
        elements, part = x.values.size, -(-_at_once(x) // 4)
        return {
            "x_ptr": Budget(loads=sweeps * elements, least_at_once=part),
            "y_ptr": Budget(stores=elements, least_at_once=part),
        }

    return of


def _at_once(x: Tensor) -> int:
    """Elements of a whole block, or of all there is."""
    (count, n), (rows, columns) = x.values.shape, x.axes
    return int(min(rows.block or 1, count) * min(columns.block, n))


def blockwise_budget(sweeps: int) -> Callable[[Case], Mapping[str, Budget]]:
    """The same, for rows that are walked in blocks: between two sweeps, one block of each row may be kept.

    Who reads x twice has merged the sweeps for the maximum and the sum, which is welcome in any puzzle.
    """

    def of(case: Case) -> Mapping[str, Budget]:
        x, most = case.tensors["x_ptr"], budget(sweeps)(case)
        count, n = x.values.shape
        least = count * (2 * n - min(x.axes[1].block, n))
        return {**most, "x_ptr": replace(most["x_ptr"], least_loads=least, least_at_once=_at_once(x))}

    return of


def _keeps_the_row(case: Case, moved: Mapping[str, Moved]) -> bool:
    return moved["x_ptr"].loads < blockwise_budget(2)(case)["x_ptr"].least_loads


ROW_KEPT = Misconception(
    "row-kept-in-registers",
    "The row is kept in registers from one sweep to the next",
    "Registers hold a block, not a row: a row may have any length, and what does not fit is spilled to memory by the "
    "compiler, which is slower than to load it again. So each sweep reads the row anew, block by block.",
    "Load every block in every sweep. Only one block may stay from the end of one sweep to the next.",
    traffic=_keeps_the_row,
)


def _rows_not_one(case: Case, outputs: Outputs) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    y = outputs["y_ptr"].astype(np.float64)
    slack = y.shape[-1] * case.tensors["y_ptr"].eps + 4 * float(np.max(expected(case)["y_ptr"].tolerance))
    return np.asarray(np.abs(y.sum(axis=-1) - 1.0) > slack)


ROWS_SUM_TO_ONE = Invariant(
    id="rows-do-not-sum-to-one",
    title="The rows do not sum to 1",
    explanation="A softmax is a probability distribution: each row of y must sum to 1.",
    broken=_rows_not_one,
)
