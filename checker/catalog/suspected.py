"""Cases on both sides of the numbers in a submission: for softmax by rows and columns, for attention by all sizes.

Each size that a kernel can see takes a suspicious value, and both its neighbours, and something far beyond: columns,
rows, queries, keys, n_k - n_q, heads, programs, iterations, strides, blocks. They are cheap: if one size is large, the
others are small, and of many programs a few are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checker.catalog import attention, softmax
from checker.catalog.attention import Shape
from checker.catalog.attention_inputs import Inputs, normal_inputs
from checker.puzzle import Array, Case, Draw, Kernel, Role, Suspect, Suspected, Suspects

MOST_CASES = 48
MOST_MILLISECONDS = 2000.0  # of all cases together, on the interpreter, as estimated
MOST_ELEMENTS = 1_500_000  # of the tensors of one case
MOST_TOUCHED = 900_000  # elements that the programs of one case load and store: a little less than the box allows
FAR_COLUMNS, FAR_ROWS, FAR_TILES, FAR_HEADS = 200_003, 200_003, 14_009, 4_003
LIKELY = 9  # cases around a number that come first
FEW = 24  # programs of which all are run
WHY = "Your kernel contains {}, so it was also run with sizes around that."


@dataclass(frozen=True)
class Wanted:
    """A case that could be made: what it costs, and how to make it from its name."""

    what: object  # two wishes for the same launch are one
    milliseconds: float
    elements: int
    touched: int
    make: Callable[[str], Case]
    words: str = "around"  # before the number


def _chosen(wanted: Iterable[tuple[Suspect, Wanted]]) -> list[Case]:
    """As many cases as can be afforded, those wanted first before others."""
    cases: dict[str, Case] = {}
    seen: set[object] = set()
    spent = 0.0
    for suspect, one in wanted:
        feasible = one.elements <= MOST_ELEMENTS and one.touched <= MOST_TOUCHED
        if one.what in seen or not feasible or spent + one.milliseconds > MOST_MILLISECONDS or len(cases) == MOST_CASES:
            continue
        seen.add(one.what)
        spent += one.milliseconds
        made = one.make(f"{one.words} {suspect.text}")
        cases.setdefault(made.name, replace(made, telling=False, why=WHY.format(suspect.text)))
    return list(cases.values())


def _in_order(
    suspects: Suspects,
    around: Callable[[Suspect], Iterator[Wanted]],
    values: Iterable[tuple[Suspect, Wanted]],
    pair: Callable[[Suspect, Suspect], Wanted],
    far: Iterable[Wanted],
) -> Iterator[tuple[Suspect, Wanted]]:
    """What is wanted because of some numbers, the most likely first; `around` gives it for one number in this order."""
    written = [(s, [*around(s)]) for s in suspects.sizes if not s.computed]
    computed = [(s, [*around(s)]) for s in suspects.sizes if s.computed]
    yield from ((s, one) for s, some in written for one in some[:LIKELY])
    yield from ((s, replace(one, words="far beyond")) for s in suspects.sizes[:1] for one in far)
    yield from values
    yield from ((s, one) for s, some in computed for one in some[:2])
    yield from ((a, pair(a, b)) for a, _ in written for b, _ in written if a != b)
    yield from ((s, one) for s, some in written for one in some[LIKELY:])
    yield from ((s, one) for s, some in computed for one in some[2:])


def _some(count: int, c: int) -> tuple[int, ...]:
    """Numbers of programs to run, of `count`: the first and the last, and those around c; () if all are few."""
    if count <= FEW:
        return ()
    return tuple(sorted({n for n in (0, 1, c - 2, c - 1, c, c + 1, 2 * c, count - 2, count - 1) if 0 <= n < count}))


def _gap(stride: int, extent: int, far: float = np.inf) -> int:
    """What lies between rows of `extent` elements to give a stride, or some elements if that is too small a stride.

    From `far` on, a launch takes the stride itself.
    """
    if stride >= far:
        return stride
    return stride - extent if stride >= extent else 24


def _power(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def _powers_around(c: int, least: int, most: int) -> list[int]:
    """Powers of two on both sides of c, and c if it is one, as blocks can have them."""
    above = _power(c)
    return sorted({min(max(size, least), most) for size in (above // 2, above, 2 * above)})


def of_softmax(
    stem: str, kernel: Kernel, blocks: tuple[str, ...] = ("BLOCK_SIZE",), whole: bool = False, largest: float = np.inf
) -> Suspected:
    """For a softmax by rows. `blocks`: constexprs; `whole`: a block holds a row; `largest`: absolute value of x."""
    rows_of = "BLOCK_ROWS" in blocks

    def wanted(draw: Draw, rows: int, n: int, c: int, **facts: object) -> Wanted:
        return _rows_wanted(stem, kernel, draw, _Rows(rows, n, c, blocks, whole, **facts))  # type: ignore[arg-type]

    def around(draw: Draw, c: int, computed: bool) -> Iterator[Wanted]:
        """One value in all places, what is likely first."""
        yield wanted(draw, 2, 2 * c + 5, c, half=not computed)
        yield wanted(draw, 1, c, c)
        yield wanted(draw, 2, c + 1, c, strides=(2 * c + 1, 3 * c + 2))
        yield wanted(draw, c + 1, 3, c, strides=(c, c + 1), own=1)
        yield wanted(draw, c, 3, c, strides=(c + 1, c), own=4)
        yield wanted(draw, c + 1, c + 1, c)  # for products
        if computed:
            return
        yield wanted(draw, 2, c - 1, c, strides=(3 * c - 1, 2 * c - 2))
        yield wanted(draw, 2 * c + 1, 3, c, strides=(c - 1, c), own=2)
        yield wanted(draw, 3, 5, c, strides=(2 * c + 7, c + 3))
        if rows_of:
            yield wanted(draw, c - 1, 3, c, own=4)
        if not whole:
            for width in _powers_around(c, 16, 1 << 15):
                yield wanted(draw, 2, 2 * width + 3, c, width=width)
            yield wanted(draw, 1, 16 * c, c, width=16)
            yield wanted(draw, 1, 16 * (c + 1) + 5, c, width=16)
        if rows_of:
            for own in _powers_around(c, 1, 1 << 10):
                yield wanted(draw, own + 1, 19, c, own=own, width=16)

    def every(draw: Draw, suspects: Suspects) -> Iterator[tuple[Suspect, Wanted]]:
        def values() -> Iterator[tuple[Suspect, Wanted]]:
            for s in suspects.values:
                if s.value <= largest:
                    yield s, wanted(draw, 6, 83, s.value, around=min(s.value, largest / 2), width=32)

        def pairs(a: Suspect, b: Suspect) -> Wanted:
            return wanted(draw, b.value + 2, a.value + 2, b.value)

        far = (wanted(draw, *sizes) for sizes in ((1, FAR_COLUMNS, 9), (FAR_ROWS, 3, 9)))
        return _in_order(suspects, lambda s: around(draw, s.value, s.computed), values(), pairs, far)

    def cases(_: str, draw: Draw, suspects: Suspects) -> list[Case]:
        return _chosen(every(draw, suspects))

    return Suspected({kernel.name: "any-length"}, cases)


@dataclass(frozen=True)
class _Rows:
    """A launch of a softmax that is wanted because of the number c."""

    rows: int
    n: int
    c: int
    blocks: tuple[str, ...]
    whole: bool
    strides: tuple[int, int] = (0, 0)  # of x and y; 0 or too small: with some gap
    own: int = 2  # rows of a program, where it can own several
    width: int = 0  # columns of a block; 0: as is cheap
    half: bool = False
    around: float = 0.0  # data around this number and around its negative; 0: data as usual


def _rows_wanted(stem: str, kernel: Kernel, draw: Draw, r: _Rows) -> Wanted:
    width = _power(r.n) if r.whole else r.width or max(16, _power(-(-r.n // 16)))
    own = r.own if "BLOCK_ROWS" in r.blocks else 1
    constexprs = dict(zip(r.blocks, (own, width) if "BLOCK_ROWS" in r.blocks else (width,), strict=True))
    count = -(-r.rows // own)
    programs = _some(count, r.c)
    run = len(programs) or count
    steps = -(-r.n // width)
    x_gap, y_gap = (_gap(stride, r.n, softmax.FAR_APART) for stride in r.strides)

    def make(name: str) -> Case:
        random = draw.case(stem, f"{name} {r}")
        x = _data(random, r.around) if r.around else random.normal(0.0, 2.0, (r.rows, r.n))
        if not r.around and r.rows == 2:
            x[1] = x[1, 0]  # then the sum of the exponentials is n_cols
        case = softmax.launch(
            kernel, name, ("any-length",), x.astype(np.float16 if r.half else np.float32), constexprs, (x_gap, y_gap)
        )
        if not programs:
            return case
        asked = np.zeros(x.shape, bool)
        for program in programs:
            asked[program * own : (program + 1) * own] = True
        return replace(case, programs=programs, asked={"y_ptr": asked})

    rows_run = min(run * own, r.rows)
    milliseconds = run * (0.3 + steps * (0.5 + width * own / 30_000)) + r.rows * r.n / 20_000
    block_fits = width * own <= 1 << 17
    return Wanted(r, milliseconds, r.rows * r.n, 4 * rows_run * r.n if block_fits else MOST_TOUCHED + 1, make)


def _data(random: np.random.Generator, around: float) -> Array:
    """Six rows of 83 values on both sides of a number, of its negative, and of such distances from the maximum."""
    n = 83
    peak = np.zeros(n)
    peak[int(random.integers(n))] = 2 * around
    return np.stack(
        [
            random.normal(around, 1.0, n),
            random.normal(-around, 1.0, n),
            np.linspace(-2 * around, 2 * around, n),
            np.linspace(2 * around, 0, n),
            peak,
            np.linspace(-2 * around, -around / 2, n),
        ]
    )


Launch = Callable[[str, str, Shape, Inputs, bool, np.random.Generator], Case]
"""(kernel, name, shape, inputs, causal, random numbers for what else is needed) → the launch."""


def of_attention(
    stem: str, launch: Launch, proves: Mapping[str, str], both_masks: bool = False, by_head: bool = False
) -> Suspected:
    """For attention. `both_masks`: full and causal, else it is what the puzzle has; `by_head`: a program is a head."""

    def cases(kernel: str, draw: Draw, suspects: Suspects) -> list[Case]:
        def wanted(c: int, **facts: object) -> Wanted:
            return _tiles_wanted(stem, launch, kernel, draw, _Tiles(c, by_head=by_head, **facts))  # type: ignore[arg-type]

        def around(c: int, computed: bool) -> Iterator[Wanted]:
            masks = (False, True) if both_masks else (True,)
            for causal in masks:
                yield wanted(c, n_q=1, n_k=c + 1, causal=causal)  # n_k - n_q is c
                yield wanted(c, n_q=c + 1, n_k=16, causal=causal, strides=(c + 1, c))
            yield wanted(c, n_q=18, n_k=2 * c + 5, causal=True, half=not computed)
            yield wanted(c, n_q=17, n_k=c, strides=(c, c + 1))
            yield wanted(c, n_q=2, n_k=3, heads=c + 2, causal=True)
            yield wanted(c, n_q=3, n_k=2, heads=2, head_strides=(c, c + 1))
            yield wanted(c, n_q=c + 1, n_k=c + 1, causal=True)  # for products
            if computed:
                return
            yield wanted(c, n_q=16, n_k=c - 1, causal=True, strides=(c - 1, c))
            yield wanted(c, n_q=18, n_k=c + 17, causal=True)
            yield wanted(c, n_q=16, n_k=c + 17, causal=True)
            yield wanted(c, n_q=c, n_k=17)
            yield wanted(c, n_q=c - 1, n_k=16, causal=True)
            yield wanted(c, n_q=c + 16, n_k=16, causal=True)
            yield wanted(c, n_q=2 * c + 5, n_k=20, half=True, causal=True)
            yield wanted(c, n_q=3, n_k=2, heads=c)
            yield wanted(c, n_q=2, n_k=3, heads=2, head_strides=(c + 1, c), causal=True)
            yield wanted(c, n_q=3, n_k=4, heads=2, head_strides=(c - 1, 2 * c + 3), causal=True)
            yield wanted(c, n_q=16 * c + 19, n_k=18, Br=16)
            yield wanted(c, n_q=18, n_k=16 * c + 19, Bc=16)
            yield wanted(c, n_q=16 * c + 5, n_k=16 * c + 5, Br=16, Bc=16, causal=True)
            for D in _powers_around(c, 16, 1024):
                yield wanted(c, n_q=19, n_k=37, D=D, causal=True)
            for Br in _powers_around(c, 16, 512):
                yield wanted(c, n_q=Br + 3, n_k=Br + 17, Br=Br, causal=True)
            for Bc in _powers_around(c, 16, 512):
                yield wanted(c, n_q=19, n_k=Bc + 17, Bc=Bc, causal=True)

        values = ((s, wanted(s.value, n_q=19, n_k=37, around=s.value)) for s in suspects.values)

        def pairs(a: Suspect, b: Suspect) -> Wanted:
            return wanted(a.value, n_q=b.value + 1, n_k=a.value + 1, causal=True)

        sizes: tuple[dict[str, int], ...] = (
            {"n_q": 1, "n_k": FAR_TILES},
            {"n_q": FAR_TILES, "n_k": 3},
            {"n_q": 2, "n_k": 3, "heads": FAR_HEADS},
        )
        far = (wanted(9, causal=True, **some) for some in sizes)
        return _chosen(_in_order(suspects, lambda s: around(s.value, s.computed), values, pairs, far))

    return Suspected(proves, cases)


@dataclass(frozen=True)
class _Tiles:
    """A launch of attention that is wanted because of the number c."""

    c: int
    n_q: int
    n_k: int
    heads: int = 1
    causal: bool = False
    strides: tuple[int, int] = (0, 0)  # of rows, of the Q-shaped and K-shaped tensors; 0 or too small: with some gap
    head_strides: tuple[int, int] = (0, 0)
    D: int = 16
    Br: int = 0  # 0: as is cheap
    Bc: int = 0
    half: bool = False
    by_head: bool = False
    around: float = 0.0  # scores and V around this number and around its negative; 0: as usual


def _tiles_wanted(stem: str, launch: Launch, kernel: str, draw: Draw, t: _Tiles) -> Wanted:
    Br, Bc = (block or min(128, max(16, _power(-(-n // 16)))) for block, n in ((t.Br, t.n_q), (t.Bc, t.n_k)))
    rows = [_gap(stride, t.D) for stride in t.strides]
    of_heads = [
        _gap(stride, n * (t.D + gap), attention.FAR_APART)
        for stride, n, gap in zip(t.head_strides, (t.n_q, t.n_k), rows, strict=True)
    ]
    shape = Shape(t.n_q, t.n_k, t.D, Br, Bc, t.heads, q_gaps=(rows[0], of_heads[0]), k_gaps=(rows[1], of_heads[1]))

    def make(name: str) -> Case:
        random = draw.case(stem, f"{kernel} {name} {t}")
        inputs = normal_inputs(random, shape, np.float16 if t.half else np.float32)
        if t.around:
            inputs = _around(inputs, t.around)
        else:
            inputs.q[:, 1:2] = 0.0  # all scores alike: then the sum of the exponentials is the number of keys
        case = launch(kernel, name, shape, inputs, t.causal, random)
        return _sampled(case, shape, t.c)

    tiles, heads = (0 if t.by_head else max(shape.tr, shape.tc)), t.heads
    run_tiles, run_heads = (len(_some(count, t.c)) or count for count in (tiles, heads))
    run = run_heads * (shape.tr * shape.tc if t.by_head else run_tiles * max(shape.tr, shape.tc))
    run = min(run, run_heads * shape.tr * shape.tc)
    milliseconds = run * (1.0 + Br * Bc * t.D / 400_000) + t.heads * t.n_q * t.n_k / 20_000
    elements = t.heads * max((t.n_q + t.n_k) * t.D, t.n_q * t.n_k)
    touched = run * (3 * Br + 2 * Bc) * t.D
    return Wanted((kernel, t), milliseconds, elements, touched, make)


def _around(inputs: Inputs, number: float) -> Inputs:
    """Scores from -2 to 2 times the number, the same along a query or not, and V on both sides of it."""
    q, k, v = inputs.q.copy(), inputs.k.copy(), inputs.v.copy()
    q[..., :2], k[..., :2] = 0.0, 1.0
    k[..., 1] = np.linspace(0.0, 1.0, k.shape[1])
    levels = np.linspace(-2 * number, 2 * number, q.shape[1]) / inputs.scale
    q[..., 0], q[..., 1] = levels, np.roll(levels, 5)
    v[..., 0], v[..., 1] = number + v[..., 0], -number + v[..., 1]
    return replace(inputs, q=q, k=k, v=v)


def _sampled(case: Case, shape: Shape, c: int) -> Case:
    """The case with a few of its programs, if it has many. FlashAttention-1 keeps its state in memory: all heads."""
    tiles = case.grid[0] if len(case.grid) > 1 else 1
    heads = case.grid[-1]
    some_tiles, some_heads = _some(tiles, c) or range(tiles), _some(heads, c) or range(heads)
    if tiles <= FEW >= heads:
        return case
    programs = tuple(head * tiles + tile for head in some_heads for tile in some_tiles)
    asked = {}
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT:
            block = tensor.axes[1].block if len(case.grid) > 1 else shape.n_q
            of_tiles = np.isin(np.arange(tensor.values.shape[1]) // block, [*some_tiles])
            of_heads = np.isin(np.arange(heads), [*some_heads])
            mask: npt.NDArray[np.bool_] = of_heads[:, None] & of_tiles[None, :]
            extra = tensor.values.ndim - 2
            asked[name] = np.broadcast_to(mask.reshape(*mask.shape, *(1,) * extra), tensor.values.shape)
    return replace(case, programs=programs, asked=asked)
