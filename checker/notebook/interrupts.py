"""A short message in a notebook if one of our calls is interrupted, in place of a traceback of our code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Said = ParamSpec("_Said")
_Answer = TypeVar("_Answer")


class Interrupted(KeyboardInterrupt):
    """An interrupt that IPython shows as it says itself. The cell has failed, so those below it do not run."""

    def _render_traceback_(self) -> list[str]:
        return ["Interrupted."]


def interruptible(call: Callable[_Said, _Answer]) -> Callable[_Said, _Answer]:
    """Return the same call, in whose place an interrupt shows no traceback."""

    @wraps(call)
    def made(*arguments: _Said.args, **named: _Said.kwargs) -> _Answer:
        try:
            return call(*arguments, **named)
        except KeyboardInterrupt:
            raise Interrupted from None

    return made
