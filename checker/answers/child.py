"""The process that judges for a notebook: whatever the notebook's own process has come to believe, it does not.

A setting of NumPy's, a patched module or another folder there would change the judge too, if it ran there.
Reads one JSON request from standard input, writes the fields of a `Report` to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, suppress

from checker.check import Conditions, device_of
from checker.course import targets
from checker.course.ladder import id_of
from checker.course.language import ENGLISH, choose
from checker.course.status import Misuse
from checker.sandbox.protocol.device import Device

_JUDGED, _JUDGED_AND_COMPILED = ("hint", "step", "trace"), ("bench", "check")


def main() -> None:
    """Serve one request and exit. Where it is sure to launch something, the sandbox starts before the judge does."""
    request = json.loads(sys.stdin.read())
    choose(request.pop("language", ENGLISH))
    verb, puzzle = request["verb"], request["puzzle"]
    compiled = verb in _JUDGED_AND_COMPILED or puzzle is None
    conditions = Conditions(device=request.pop("device", "interpreter"), targets=targets.DEFAULT if compiled else ())
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in `checker.__main__`
    with ExitStack() as stack:
        with suppress(Misuse):  # which is said below
            if verb == "own":
                stack.enter_context(conditions.host.begun(Device.OWN))
            elif puzzle is not None and verb in (*_JUDGED, *_JUDGED_AND_COMPILED):
                stack.enter_context(conditions.host.begun(device_of(id_of(puzzle), conditions)))
        from checker.answers.answers import answered  # imports NumPy, while the sandbox imports Triton

        json.dump(answered(conditions=conditions, **request), sys.stdout)
