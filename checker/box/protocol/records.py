"""The access log as it crosses the wall: its codes, what masked lanes are filled with, and which numbers are sizes.

A record is RECORD_FIELDS numbers of 32 bits: kind, tensor, program, line, distinct elements, lanes, and a detail that
depends on the kind. `results.AccessLog` gives each of these meanings a name.

| kind | lanes | detail |
|---|---|---|
| LOAD | of the block, masked or not | masked lanes that do not hold -inf; negative if nothing says what they hold |
| STORE | of the block, masked or not | lanes whose element another lane gave another value |
| BARRIER | 0 | 0 |
| DOT | of the result | how many terms each element sums |
| BLOCK | of a block, the largest of its launch so far | 0 |
| PRODUCT | 0 | elements that one line of one program multiplies one by one, all together |
| LOSS | how often digits or bits are lost | in which of WAYS |
| HELD | numbers in all tensors that live, the most so far; of a PyTorch program | 0 |
| LAUNCHED | programs of a kernel that a PyTorch program has launched | which one it is of those that it is lent |

A PyTorch program has BLOCK for each tensor that is the largest so far, and STORE for each output that it returns.
"""

LOAD, STORE, BARRIER, DOT, BLOCK, PRODUCT, LOSS, HELD, LAUNCHED = KINDS = range(9)
IN_DOT, IN_SUM, IN_LOOP, IN_STORE, ON_THE_WAY = range(5)  # where something is added up or kept in half
MULTIPLIED, AS_FLOAT, NARROWED = range(5, 8)  # what is done with positions and sizes
WAYS = range(8)  # to lose digits or bits
RECORD_FIELDS = 7
OPERATION = 10_000  # elements of an operation, or terms of a product, that take as long as the rest of it does
TOO_MUCH_WORK = "TooMuchWork"  # the type of the error that ends a launch and its pass
LARGEST = 2**31 - 1  # what a field can hold
MEMORY, TILE = "memory", "tile"  # what a GPU has too little of, or too small a core for, to run a launch
FILLS = (0.0, 6e4)  # what undefined masked lanes hold in the repetitions; the second fits into fp16


def is_size(parameter: str) -> bool:
    """Whether a number that a kernel gets is a size of its tensors, by its name: n_rows, n_q; n, m, k of formulas."""
    return parameter.startswith("n_") or parameter in ("n", "m", "k")
