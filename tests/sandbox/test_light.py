"""The light way, with Triton's Python files alone: the same names of mistakes, and how these files get here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from checker.check import Conditions
from checker.publish import bundle, triton
from checker.sandbox.host import Host
from tests.conftest import ROOT, check_kernel, need, ran
from tests.kernels import Kernel, kernels
from tests.publish.test_wheel import Environment
from tests.test_kernels import needs_the_compiler

LIGHT = Conditions(host=Host(alone=True))
PUZZLES = ("p1", "p3", "a1", "p6")  # a row whole and in blocks, a matrix product, attention


@pytest.mark.parametrize("kernel", [k for k in kernels("wrong") if k.puzzle in PUZZLES], ids=lambda kernel: kernel.name)
def test_mistakes_have_the_names_that_they_have_with_triton(kernel: Kernel) -> None:
    """Which `tests/test_kernels.py` asks of the usual way. What only a compiler sees is accepted, and says so."""
    verdict = check_kernel(kernel, LIGHT)
    if needs_the_compiler(kernel):
        assert "no compile step" in " ".join(verdict.remarks) and not verdict.compiled
    else:
        assert tuple(finding.id for finding in verdict.findings) == kernel.findings and not verdict.accepted


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A student's course, and a wheel of Triton's that has its Python files alone, which its lock names."""
    bundle.write(tmp_path / "course.tar.gz")
    shutil.unpack_archive(tmp_path / "course.tar.gz", tmp_path)
    folder = tmp_path / bundle.NAME
    lock = folder / "locks" / "check.txt"
    [version] = re.findall(r"^triton==(\S+)", lock.read_text(), re.MULTILINE)
    tag = f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-manylinux_2_27_x86_64.manylinux_2_28_x86_64"
    wheel = tmp_path / "wheels" / f"triton-{version}-{tag}.whl"
    wheel.parent.mkdir()
    about = f"triton-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, data in triton.python_files().items():
            packed.writestr(name, data)
        packed.writestr("triton/_C/libtriton.so", "the compiler")
        packed.writestr(f"{about}/licenses/LICENSE", triton.notice())
        packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: triton\nVersion: {version}\n")
        packed.writestr(f"{about}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
        packed.writestr(f"{about}/RECORD", "")
    hashed = sha256(wheel.read_bytes()).hexdigest()
    text = re.sub(r"(?m)^(triton==.*\\\n)(?:    .*\n)*", rf"\1    --hash=sha256:{hashed}\n", lock.read_text())
    lock.write_text(text)
    return folder


def light(clone: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What is typed in it, where no package but a wheel of `wheels` can be had."""
    known = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and not k.startswith("PIP_")}
    known |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(clone.parent / "wheels")}
    return ran(*words, cwd=clone, env=known | variables)


def test_a_clone_fetches_tritons_python_files_once_and_checks(clone: Path) -> None:
    need("make")
    venv = Environment(clone.parent / "venv", None, hidden=("triton", "torch"))
    shutil.copy(ROOT / "solutions" / "p1_naive_softmax.py", clone / "puzzles")
    asked = {"LIGHT": "1", "VENV": str(venv.bin.parent)}
    done = light(clone, "./check", "p1", **asked)
    assert done.returncode == 0 and "accepted  100/100" in done.stdout, done
    assert "\nBy the way: without Triton: no compile step, one process, no memory limit.\n" in done.stdout
    assert done.stderr.count("This happens once.") == 1
    left = [path for path in (clone / "build").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.suffix for path in left} == {".py", ""} and [p.name for p in left if not p.suffix] == ["LICENSE"]
    shutil.rmtree(clone.parent / "wheels")  # from here on there is no network
    again = light(clone, str(venv.bin / "python"), "-m", "checker", "check", "p1")  # as on Windows; and no LIGHT
    assert (again.returncode, again.stderr) == (0, "")


def test_what_cannot_be_fetched_is_nobodys_fault(clone: Path) -> None:
    venv = Environment(clone.parent / "venv", None, hidden=("triton", "torch"))
    [wheel] = (clone.parent / "wheels").iterdir()
    wheel.write_bytes(wheel.read_bytes() + b"changed")
    done = light(clone, str(venv.bin / "python"), "-m", "checker", "check", "p1", LIGHT="1")
    assert done.returncode == 3 and "Triton's Python files could not be fetched: " in done.stdout, done
    assert not list((clone / "build").iterdir())


WINDOWS = """
import os, select, signal, socket, sys, runpy
gone = ("fcntl", "resource", "pwd", "grp", "termios")
class Without:
    def __init__(self, finder):
        self.find = finder.find_spec
    def find_spec(self, name, path=None, target=None):
        return None if name in gone else self.find(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
for name in gone:
    sys.modules.pop(name, None)
system = "memfd_create fork killpg getuid geteuid sched_getaffinity pidfd_open setsid sysconf O_DIRECTORY O_NOFOLLOW"
lacking = {os: system, signal: "SIGHUP SIGALRM setitimer", select: "poll", socket: "AF_UNIX send_fds"}
for module, names in lacking.items():
    for name in names.split():
        delattr(module, name)
runpy.run_module("checker", run_name="__main__")
"""


def test_it_asks_nothing_of_python_that_windows_has_not(tmp_path: Path) -> None:
    """Nor macOS: modules and functions that are missing there are missing here. It is no trial of either system."""
    kernel = str(ROOT / "solutions" / "p1_naive_softmax.py")
    for words in (("check", "p1"), ("step", "p1"), ("trace", "p1")):
        ran(sys.executable, "-c", WINDOWS, *words, "--file", kernel, cwd=tmp_path, ends=0, LIGHT="1")
