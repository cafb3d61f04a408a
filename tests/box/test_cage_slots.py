"""What a cage gets for itself: a user, a memory group, and the GPUs that are meant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker.box.cage import cage as cages
from checker.box.cage import groups, slots, visible
from checker.box.cage.cage import Cage
from tests.box.test_cage import started
from tests.conftest import cage_or_skip, importable, need

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
        deadline = time.monotonic() + 10
        while Path(f"/proc/{other.pid}").stat().st_uid != free and time.monotonic() < deadline:
            time.sleep(0.01)
        slot = slots.claim()
        assert slot.uid != free
        slot.release()
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(
    ("wanted", "shown"), [(None, "0 1 3"), ("0", "1"), ("1,2", "0 3"), ("GPU-cc", "3"), ("", ""), ("7", "")]
)
def test_only_the_gpus_that_are_meant_are_shown(
    wanted: str | None, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers count along the bus, which is not the order of the device files; one GPU here is another container's."""
    for bus, (minor, identity) in enumerate([(1, "GPU-aa"), (2, "GPU-bb"), (0, "GPU-dd"), (3, "GPU-cc")]):
        folder = tmp_path / "gpus" / f"0000:{bus:02}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t H200\nGPU UUID: \t {identity}\nDevice Minor: \t {minor}\n")
    for name in ("nvidia0", "nvidia1", "nvidia3", "nvidiactl"):
        (tmp_path / name).touch()
    monkeypatch.setattr(visible, "DRIVER", tmp_path / "gpus")
    monkeypatch.setattr(visible, "DEVICES", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if wanted is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wanted)
    *gpus, control = visible.gpu_devices()
    assert [Path(gpu).name for gpu in gpus] == [f"nvidia{n}" for n in shown.split()]
    assert Path(control).name == "nvidiactl"


@AS_ROOT
def test_a_memory_group_ends_what_takes_too_much() -> None:
    """What a GPU's submissions run in; a limit on address space would break the driver."""
    group = groups.made(f"test-{os.getpid()}", 256 << 20)
    if group is None:
        pytest.skip("this machine's memory controller cannot be used")
    try:
        for megabytes, status in ((16, 0), (1024, -signal.SIGKILL)):
            asked = groups.joined(group, [sys.executable, "-c", f"much = b'x' * ({megabytes} << 20)"])
            assert subprocess.run(asked, check=False).returncode == status
    finally:
        groups.removed(group)
    assert not group.exists()


@AS_ROOT
def test_what_cannot_join_its_group_does_not_run(tmp_path: Path) -> None:
    asked = groups.joined(tmp_path / "absent", ["touch", str(tmp_path / "ran")])
    assert subprocess.run(asked, capture_output=True, check=False).returncode != 0
    assert not (tmp_path / "ran").exists()


@AS_ROOT
def test_a_cage_for_a_gpu_is_in_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    importable("torch")  # which such a cage shows
    if (probe := groups.made(f"test-{os.getpid()}")) is None:
        pytest.skip("this machine's memory controller cannot be used")
    groups.removed(probe)
    with cage_or_skip() as cage:
        assert cage.slot is not None
        child = started(cage, "import time; print(1, flush=True); time.sleep(600)", "cuda")
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        group = groups.place(f"slot-{cage.slot.uid}")
        inside = (group / "cgroup.procs").read_text().split()
        users = {Path(f"/proc/{pid}").stat().st_uid for pid in inside}
        child.end()
        child.communicate()
        assert cage.slot.uid in users
        assert cage.described("cuda").endswith(", memory group") and "group" not in cage.described()
    assert not group.exists()


def test_version_2_of_control_groups_is_asked_for_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which files get what; there is no telling here what a kernel makes of it, if this one has version 1."""
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    group = groups.made("slot-64000", 1 << 30)
    assert group == tmp_path / "flash-puzzles" / "slot-64000"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
    assert (tmp_path / "flash-puzzles" / "cgroup.subtree_control").read_text() == "+memory"
    assert (group / "memory.max").read_text() == str(1 << 30)
    assert (group / "memory.swap.max").read_text() == "0"
