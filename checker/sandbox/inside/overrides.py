"""Values from outside for names of a kernel while it runs: they show its results if these names were right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.sandbox.inside.running import running

Like = Callable[[Any, npt.NDArray[np.float64]], Any]  # what a name holds, with other numbers; if they fit


class Given:
    """The values of one launch: of each name, by program, one for each time that it is assigned; None: its own."""

    def __init__(self) -> None:
        self._values: Mapping[str, Mapping[str, Sequence[Any]]] = {}
        self._times: dict[tuple[str, int], int] = {}
        self._like: Like = lambda own, _: own

    def begin(self, values: Mapping[str, Mapping[str, Sequence[Any]]], like: Like) -> None:
        """Begin a launch."""
        self._values, self._times, self._like = values, {}, like

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
        if isinstance(own, int | float):
            if np.size(wanted) > 1:
                return own
            return int(wanted) if isinstance(own, int) and float(wanted).is_integer() else float(wanted)
        return self._like(own, np.array(wanted, np.float64))


given = Given()
