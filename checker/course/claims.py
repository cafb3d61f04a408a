"""An author's claims of their own function: it is checked for these, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TYPES = ("fp32", "fp16", "bf16")
LAYOUTS = ("bhnd", "bnhd", "bnd")
HEAD_DIMS = (16, 32, 64, 80, 128)


@dataclass(frozen=True)
class Claims:
    """A function, how it is called, and what it is for."""

    function: str = ""  # an expression in the file; empty: it is found
    call: str = ""  # what it is called with, in order; empty: by the names of its parameters
    layout: str = ""  # of LAYOUTS; empty: by the number of axes that its name says nothing of, which is bhnd
    types: tuple[str, ...] = TYPES
    head_dims: tuple[int, ...] = HEAD_DIMS
    whole_tiles: bool = False  # n is a multiple of 128
    square: bool = False  # as many queries as keys
    dense: bool = False  # inputs have no gaps, and their axes lie in their order
    causal: bool = False  # it is always causal
    kv_heads: bool = False  # K and V may have fewer heads than Q

    def left_out(self, *, softmax: bool = False) -> Iterator[str]:
        """Yield what is not asked because of it, in words."""
        if self.whole_tiles:
            yield "lengths that are not multiples of 128"
        if self.square and not softmax:
            yield "more keys than queries, or fewer"
        if self.dense:
            yield "inputs that are not contiguous"
        if not softmax:
            dims = [str(d) for d in sorted(self.head_dims)]
            yield f"head dimensions other than {' and '.join(filter(None, (', '.join(dims[:-1]), dims[-1])))}"
        yield from (one for one in TYPES if one not in self.types)
        if self.causal and not softmax:
            yield "full attention"
