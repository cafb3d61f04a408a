"""The user of a cage."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from checker.sandbox.cage import cage as cages
from checker.sandbox.cage import slots
from checker.sandbox.cage.cage import Cage
from tests.conftest import need

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own to cages")
pytestmark = pytest.mark.usefixtures("nothing_left")


@AS_ROOT
def test_two_cages_never_share_a_user(cage: Cage) -> None:
    assert cage.slot is not None
    first = cages.claim()
    with cages.claim() as second:
        assert first.slot is not None and second.slot is not None
        assert len({cage.slot.uid, first.slot.uid, second.slot.uid}) == 3
        first.close()
        with cages.claim() as third:
            assert third.slot is not None and third.slot.uid == first.slot.uid


@AS_ROOT
def test_a_user_who_runs_something_already_is_left_alone() -> None:
    need("setpriv")
    with slots.claim().lock as _:
        pass  # which one is free?
    slot = slots.claim()
    free = slot.uid
    slot.release()
    other = subprocess.Popen(["setpriv", f"--reuid={free}", "--clear-groups", "sleep", "600"])
    try:
        deadline = time.monotonic() + 300
        while Path(f"/proc/{other.pid}").stat().st_uid != free and time.monotonic() < deadline:
            time.sleep(0.01)
        slot = slots.claim()
        assert slot.uid != free
        slot.release()
    finally:
        other.kill()
        other.wait()
