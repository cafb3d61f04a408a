"""Names that are given values from outside while a launch runs: what would come of a kernel if they were right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from checker.box.inside.running import running


class Given:
    """The values of one launch: of each name, by program, one for each time that it is assigned; None: its own."""

    def __init__(self) -> None:
        self._values: Mapping[str, Mapping[str, Sequence[Any]]] = {}
        self._times: dict[tuple[str, int], int] = {}

    def begin(self, values: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Begin a launch."""
        self._values, self._times = values, {}

    def value(self, name: str, own: Any) -> Any:
        """Return what a name is given in place of its own value."""
        if name not in self._values:
            return own
        at = self._times.get((name, running.program), 0)
        self._times[name, running.program] = at + 1
        every = self._values[name].get(str(running.program), ())
        wanted = every[at] if at < len(every) else None
        if wanted is None:
            return own
        if not isinstance(own, tl.tensor):
            return float(wanted) if isinstance(own, float) and np.size(wanted) == 1 else own
        held = own.handle.data
        if held.dtype.kind != "f" or np.size(wanted) != held.size:
            return own
        numbers = np.array(wanted, np.float64).reshape(held.shape).astype(held.dtype)
        return tl.tensor(interpreter.TensorHandle(numbers, own.handle.dtype), own.type)


given = Given()
