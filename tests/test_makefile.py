"""`make` with a .venv of its own: when it is kept, when it is made anew. Nothing is downloaded here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from checker.publish.locks import packages
from tests.conftest import ROOT, need, ran


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder, with a space in its name, in which every layer seems to be installed."""
    need("make")
    folder = tmp_path / "my course"
    (folder / "checker").mkdir(parents=True)
    for name in ("Makefile", "instructor.mk", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "locks", folder / "locks")
    for name in ("venv.sh", "supported.sh"):
        shutil.copy(ROOT / "checker" / name, folder / "checker")
    pretend(folder, sys.executable)
    return folder


def pretend(folder: Path, python: str) -> None:
    """Make the .venv that `make check` would have made, but for its packages."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    real = Path(python).resolve()
    (folder / ".venv" / "bin" / "python").symlink_to(real)
    (folder / ".venv" / ".made-for").write_text(f"{folder}\n{python}\n{real}\n")
    for layer in ("check", "lab", "test"):
        (folder / ".venv" / f".layer-{layer}").touch()


def make(
    folder: Path, *arguments: str, environment: Mapping[str, str] = MappingProxyType({}), ends: int | None = None
) -> subprocess.CompletedProcess[str]:
    return ran("make", *arguments, cwd=folder, ends=ends, env={**os.environ, **environment})


def run(folder: Path, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})) -> list[list[str]]:
    """What make runs as `python -m checker`, or as another module, with a Python that only notes what it is told."""
    bin = folder / "noting" / "bin"
    bin.mkdir(parents=True, exist_ok=True)
    (noted := bin / "noted").unlink(missing_ok=True)
    (bin / "python").write_text('#!/bin/sh\n[ "$1" = -m ] && printf "%s\\0" "$@" "" >>"${0%/*}/noted"\nexit 0\n')
    (bin / "python").chmod(0o755)
    make(folder, *arguments, "VENV=noting", environment=environment, ends=0)
    commands = noted.read_text().split("\0\0")[:-1]
    return [words[2:] if words[1] == "checker" else words for words in (one.split("\0") for one in commands)]


def venv_of(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return ran("checker/venv.sh", *arguments, cwd=folder, env=os.environ)


def test_a_venv_that_fits_is_kept(course: Path) -> None:
    assert venv_of(course, "python3", "kept").stdout.strip() == sys.executable
    assert venv_of(course, sys.executable, "given").stdout.strip() == sys.executable
    assert (course / ".venv").exists()


def test_a_moved_folder_gets_a_new_one_with_the_same_python(course: Path) -> None:
    moved = course.rename(course.with_name("moved"))
    assert venv_of(moved, "python3", "kept").stdout.strip() == sys.executable
    assert not (moved / ".venv").exists()


def test_a_link_to_one_of_another_folder_stays(course: Path) -> None:
    theirs = (course / ".venv").rename(course.parent / "theirs")
    (theirs / ".made-for").write_text((theirs / ".made-for").read_text().replace(str(course), "/another"))
    (course / ".venv").symlink_to(theirs)
    done = venv_of(course, "python3", "kept")
    assert done.returncode == 2 and "It stays as it is." in done.stderr and (course / ".venv").is_symlink()


def test_another_python_gets_a_new_one(course: Path) -> None:
    other = shutil.which("python3", path="/usr/bin:/bin")
    if other is None or subprocess.run(["checker/supported.sh", other], cwd=course, check=False).returncode:
        pytest.skip("there is no second Python here that is supported")
    assert venv_of(course, other, "given").stdout.strip() == other
    assert not (course / ".venv").exists()


def test_a_python_that_changed_behind_its_name_gets_a_new_one(course: Path) -> None:
    note = course / ".venv" / ".made-for"
    note.write_text("\n".join([*note.read_text().split("\n")[:2], "/usr/bin/python3.99"]) + "\n")
    venv_of(course, "python3", "kept")
    assert not (course / ".venv").exists()


def test_an_unsupported_python_is_refused_and_nothing_is_removed(course: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\ntest "$1" = -V && echo Python 3.9.1\nexit 1\n')
    old.chmod(0o755)
    done = make(course, "check", f"PYTHON={old}", ends=2)
    assert "Python 3.10 to 3.14 is needed" in done.stderr
    assert (course / ".venv" / ".layer-test").exists()


@pytest.mark.parametrize("arguments", [("help",), ("-n", "check"), ()], ids=["help", "dry", "nothing"])
def test_looking_changes_nothing(course: Path, arguments: tuple[str, ...]) -> None:
    make(course, *arguments, "PYTHON=/no/such/python", ends=0)
    assert (course / ".venv" / ".layer-test").exists()


def test_nobody_has_to_read_all_of_the_help(course: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(["make", "help"], cwd=course, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_students_copy_is_the_same_makefile_without_the_rest(course: Path) -> None:
    (course / "instructor.mk").unlink()
    assert "make check" in make(course, "help").stdout and "instructors" not in make(course, "help").stdout
    assert make(course, "test").returncode == 2 and make(course, "-n", "check").returncode == 0


def test_compiled_passes_on_all_that_it_is_told(course: Path) -> None:
    said = {"FILE": "my file.py", "BEFORE": "old one.py", "TARGETS": "sm_80", "SIZE": "d = 128", "STAGE": "ptx"}
    said["LAUNCH"] = "Br=32 num_warps=8"
    options = [word for name, value in said.items() for word in (f"--{name.lower()}", value)]
    [command] = run(course, "compiled", "PUZZLE=6", *(f"{name}={value}" for name, value in said.items()))
    assert command[:2] == ["compiled", "6"] and sorted(command[2:]) == sorted(options)


@pytest.mark.parametrize(("device", "trained_on"), [("interpreter", "cpu"), ("auto", "cpu"), ("cuda", "cuda")])
def test_train_knows_two_devices(device: str, trained_on: str, course: Path) -> None:
    [command] = run(course, "train", f"DEVICE={device}", "FILE=my file.py", "STEPS=7")
    assert command == ["train", "--file", "my file.py", "--device", trained_on, "--steps", "7"]


def test_guesses_are_words_of_their_own(course: Path) -> None:
    assert run(course, "predict", "PUZZLE=5", "GUESS=k_reads=4 o_writes=2") == [
        ["predict", "5", "k_reads=4", "o_writes=2"]
    ]


@pytest.mark.parametrize("puzzle", ["1", "p1", "P1"])
def test_a_puzzle_is_passed_on_as_it_is_typed(puzzle: str, course: Path) -> None:
    """Which one is meant is for the checker to say, so no file's name is made of it here."""
    targets = ("check", "watch", "hint", "predict", "reset", "trace", "bench", "compiled")
    targets += ("solution", "gradescope", "similar", "viva", "ideas")
    for target in targets:
        [command] = run(course, target, f"PUZZLE={puzzle}")
        assert puzzle in command


# What would run a command, or end a quotation, if make or a shell took it for its own.
HOSTILE = (
    "`touch pwned`.py",
    "$(touch pwned).py",
    "$(shell touch pwned).py",
    "$$(touch pwned)",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "; touch pwned #",
    "a\ntouch pwned",
    "${FILE}\\",
    "ü & b | c > d",
)
SEVERAL = {"GUESS", "LAB", "TESTS", "PYTHONS"}  # words, which a shell takes apart, and does nothing else to


def variables() -> set[str]:
    """All that a user can say: what the makefiles' recipes and their help speak of."""
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "instructor.mk"))
    asked = re.findall(r"\$\(call (?:option,[\w-]+|argument),([A-Z]+)\)|\$\$\{?([A-Z]+)\b|\$\(if \$\(([A-Z]+)\)", text)
    told = re.findall(r"^#   ([A-Z]+)=|[(; ]([A-Z]+)=", text, re.MULTILINE)
    inner = {"PATH", "PWD", "PYTHONPATH", "CHECKER_INSTALL_MATPLOTLIB"}
    return {name for found in (*asked, *told) for name in found if name} - inner


def targets() -> list[str]:
    """All that run something of ours, and nothing but that."""
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "instructor.mk"))
    return sorted({*re.findall(r"^([a-z-]+):.*##", text, re.MULTILINE)} - {"help", "clean", "torch", "lint", "wheel"})


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("by", ["command line", "environment"])
def test_what_is_said_is_never_run(by: str, hostile: str, course: Path) -> None:
    """Every variable of both makefiles, in every target. A student chooses what a file is called."""
    names = variables() - SEVERAL - {"VENV"}
    assert names >= {"FILE", "STUDENT", "COURSE", "ROSTER", "PYTHON"} and len(names) > 30
    plain = run(course, *targets(), *(f"{name}=x" for name in names))
    said = dict.fromkeys(names, hostile)
    if by == "command line":
        commands = run(course, *targets(), *(f"{name}={value}" for name, value in said.items()), f"ELSE={hostile}")
    else:
        commands = run(course, *targets(), environment=said)
    assert commands == [[hostile if word == "x" else word for word in command] for command in plain]
    assert len(run(course, *targets(), environment=dict.fromkeys(SEVERAL, hostile))) == len(plain) > 25
    assert not list(course.rglob("pwned"))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_name_of_a_program_or_of_an_environment_is_run(hostile: str, course: Path) -> None:
    assert make(course, "check", f"PYTHON={hostile}").returncode == 2
    assert make(course, "check", f"VENV={hostile}").returncode == 2
    assert not list(course.rglob("pwned"))


@pytest.mark.parametrize("hostile", [name for name in HOSTILE if "\n" not in name])
def test_nor_is_the_folders_own_name(hostile: str, course: Path) -> None:
    moved = course.rename(course.with_name(hostile))
    [command] = run(moved, "check", "PUZZLE=1")
    assert command == ["check", "1", "--device", "interpreter"]
    assert "Install Python" in make(moved, "check", "PYTHON=/no/such").stderr
    assert not list(course.parent.rglob("pwned"))


def test_pictures_are_installed_for_once_there_is_one(course: Path) -> None:
    """What `make` hands over is one command, and it installs matplotlib alone; `trace` needs none."""
    assert "MATPLOTLIB" not in make(course, "-n", "trace", "PUZZLE=5").stdout
    line = make(course, "-n", "bench", "PUZZLE=5").stdout
    assert "pip install" not in line
    command = line.partition('CHECKER_INSTALL_MATPLOTLIB="')[2].partition('"')[0]
    done = ran(*command.split(), "-n", cwd=course, env=os.environ)
    assert "-r locks/check.txt -r locks/plot.txt" in done.stdout and "lab" not in done.stdout
    assert 'CHECKER_INSTALL_MATPLOTLIB=""' not in make(course, "-n", "bench", f"VENV={sys.prefix}").stdout


def test_a_cluster_brings_what_it_needs(course: Path) -> None:
    assert run(course, "grade", "CLUSTER=local", "JOBS=8") == [
        ["grade", "--course", "course", "--jobs", "8", "--cluster", "local"]
    ]
    assert run(course, "grade") == [["grade", "--course", "course"]]
    done = make(course, "-n", "grade", "CLUSTER=local")
    assert "pip install" in done.stdout and "-r locks/cluster.txt" in done.stdout


@pytest.mark.parametrize(
    ("system", "said", "refused"),
    [
        ("Linux riscv64", {}, "LIGHT=1"),
        ("Linux riscv64", {"LIGHT": "1"}, ""),
        ("Darwin arm64", {}, ""),
        ("MINGW64_NT-10.0 x86_64", {}, "py -m checker check p1"),
    ],
)
def test_without_triton_all_else_is_installed(
    system: str, said: dict[str, str], refused: str, course: Path, tmp_path: Path
) -> None:
    """On another system, as its `uname` says: where Triton has no wheel, and where it is not wanted."""
    shutil.rmtree(course / ".venv")
    kernel, _, machine = system.partition(" ")
    (tmp_path / "uname").write_text(f'#!/bin/sh\n[ "$1" = -m ] && echo {machine} || echo {kernel}\n')
    (tmp_path / "uname").chmod(0o755)
    made = f"mkdir -p .venv/bin && ln -s {sys.executable} .venv/bin/python"
    (python := tmp_path / "python").write_text(f'#!/bin/sh\n[ "$2" = venv ] || exec {sys.executable} "$@"\n{made}\n')
    python.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **said}
    done = make(course, ".venv/light.txt", f"PYTHON={python}", environment=environment)
    assert (done.returncode == 0) == (not refused) and refused in done.stderr, done
    if not refused:
        whole, light = (packages((course / path).read_text()) for path in ("locks/check.txt", ".venv/light.txt"))
        assert light == [one for one in whole if not one.startswith("triton==")] and len(light) == len(whole) - 1
        asked_before = {**environment, "LIGHT": ""}  # what was asked for once holds
        installs = make(course, "-n", "lab", environment=asked_before).stdout
        assert "-r locks/../.venv/light.txt" in installs and "locks/check.txt " not in installs, installs


def test_a_missing_environment_gets_a_sentence(course: Path) -> None:
    done = make(course, "check", "PUZZLE=1", "VENV=/no/such folder", ends=2)
    assert "has no bin/python" in done.stdout + done.stderr


@pytest.mark.parametrize("begun", [False, True])
def test_only_a_venv_that_make_has_begun_is_removed(begun: bool, course: Path) -> None:
    """An editor or uv makes one as well, or a student does."""
    venv = course / ".venv"
    for path in venv.glob(".*"):
        path.unlink()
    if begun:
        (venv / ".begun").touch()
    done = venv_of(course, "python3", "kept")
    assert done.returncode == (0 if begun else 2) and venv.exists() != begun
    if not begun:
        assert "VENV=.venv" in done.stderr and "mv .venv" in done.stderr
        assert make(course, "progress").returncode == 2 and make(course, "clean").returncode == 0
        assert (venv / "bin" / "python").exists()


def test_what_is_begun_says_so_first(course: Path, tmp_path: Path) -> None:
    """A Python that makes no venv, as one that is interrupted."""
    shutil.rmtree(course / ".venv")
    broken = tmp_path / "python"
    broken.write_text(f'#!/bin/sh\ntest "$2" = venv && mkdir -p .venv/lib && exit 1\nexec {sys.executable} "$@"\n')
    broken.chmod(0o755)
    for _ in range(2):  # the second time it is removed
        done = make(course, "progress", f"PYTHON={broken}")
        assert done.returncode == 2 and "that make has not made" not in done.stderr
        assert (course / ".venv" / ".begun").exists()
        (course / ".venv" / "old").touch()
    make(course, "progress", f"PYTHON={broken}")
    assert not (course / ".venv" / "old").exists()


def test_clean_leaves_a_students_files_alone(course: Path) -> None:
    (course / "puzzles").mkdir()
    (course / "puzzles" / "mine.py").write_text("# mine")
    assert make(course, "clean").returncode == 0
    assert not (course / ".venv").exists()
    assert (course / "puzzles" / "mine.py").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    {
        "watch": "watch",
        "watch PUZZLE=4": "watch 4",
        "hint PUZZLE=4": "hint 4",
        "hint PUZZLE=4 AGAIN=1": "hint 4 --again",
        "progress": "progress",
        "solution PUZZLE=4": "solution 4",
        "solution PUZZLE=4 FORCE=1": "solution 4 --force",
        "doctor": "doctor",
        "reset PUZZLE=4": "reset 4",
        "reset PUZZLE=4 HELP=1": "reset 4 --level 1",
        "reset PUZZLE=4 FILE=puzzles/p4_x.py": "reset 4 --file puzzles/p4_x.py",
    }.items(),
)
def test_a_learners_targets_are_one_command_each(typed: str, said: str, course: Path) -> None:
    assert run(course, *typed.split()) == [said.split()]
    assert f"make {typed.split()[0]} " in make(course, "help").stdout


def test_an_environment_without_watchfiles_is_told_so(course: Path, tmp_path: Path) -> None:
    """With all that is needed but that, as stand-ins."""
    environment = tmp_path / "other"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" -S "$@"\n')
    (environment / "bin" / "python").chmod(0o755)
    for name in ("triton", "numpy", "click", "rich"):
        (tmp_path / f"{name}.py").touch()
    done = make(course, "needs-check", f"VENV={environment}")
    assert done.returncode == 2 and "has no watchfiles." in done.stdout + done.stderr
    (tmp_path / "watchfiles.py").touch()
    assert make(course, "needs-check", f"VENV={environment}").returncode == 0
