"""Verify a softmax or an attention in a test of one's own: `verify_attention("mine.py").raise_if_wrong()`."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.course.status import ExitStatus


@dataclass(frozen=True)
class Verified:
    """The verdict on a function, for tests of its author's."""

    status: int  # 0 right, 1 wrong, 2 misused, 3 the checker failed, 4 nothing could be judged
    verdict: dict[str, Any]  # as `--json` writes it
    text: str  # the report, which begins with what was not asked

    def raise_if_wrong(self) -> Verified:
        """Return this. Raises AssertionError with the report if it is wrong, RuntimeError if it was not judged."""
        if self.status == ExitStatus.REFUSED:
            raise AssertionError(self.text)
        if self.status != ExitStatus.ACCEPTED:
            raise RuntimeError(self.text)
        return self


def verify_attention(function: Callable[..., Any] | str | Path, call: str = "", /, **options: Any) -> Verified:
    """Verify an attention: a function, a class's `apply`, or a file.

    Its whole file runs, as with `python -m checker verify`. `call`: with what it is called, such as "q, k, v, causal".
    `options`: those of the command line, such as layout="bnhd", types=["fp16"], dense=True, function="mine". It is
    compiled if there are `targets`. Raises TypeError for an option of another type.
    """
    if not isinstance(function, str | Path):
        owner: Any = getattr(function, "__self__", None)
        inner: Any = owner if isinstance(owner, type) else inspect.unwrap(function)
        options = {"function": f"{inner.__name__}.apply" if inner is owner else inner.__name__, **options}
        function = inspect.getsourcefile(inner) or ""
    command = [sys.executable, "-m", "checker", "verify", str(function), "--json=-"]
    command += [f"--as={call}"] if call else []
    command += [] if "targets" in options else ["--no-compile"]
    for name, value in options.items():
        text = value if isinstance(value, str | bool) else ",".join(map(str, value))
        option = "--" + name.replace("head_dims", "head_dim").replace("_", "-")
        command += [option if text is True else f"{option}={text}"] if text else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Verified(done.returncode, json.loads(done.stdout or "{}"), done.stderr)


verify_softmax = verify_attention  # what is passed says which of both it is
