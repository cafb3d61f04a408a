"""`trace` as it is typed: what it writes, what it says, and how it ends."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from checker.course.columns import has_wide
from checker.course.language import CHINESE
from tests.conftest import ROOT, ran, typed
from tests.kernels import named
from tests.trace.traces import STEMS


def test_a_right_kernel_is_drawn(tmp_path: Path) -> None:
    done = typed(
        "trace", "2", "--file", str(ROOT / f"solutions/{STEMS['p2']}.py"), "--into", "pictures", cwd=tmp_path, ends=0
    )
    assert "reads per element: x 3" in done.stdout
    assert f"Written: pictures/{STEMS['p2']}.svg" in done.stdout
    assert (tmp_path / "pictures" / f"{STEMS['p2']}.svg").read_text().startswith("<svg ")


def test_a_wrong_kernel_is_drawn_and_its_status_is_that_of_check(tmp_path: Path) -> None:
    folder = tmp_path / "it's mine"
    folder.mkdir()
    file = named("p4_padding_counted").write(folder)
    done = typed("trace", "4", "--file", str(file), cwd=tmp_path, ends=1)
    assert "The padding is counted in the sum" in done.stdout
    more = f"./check p4 --file {shlex.quote(str(file))} says more about it."
    assert "".join(more.split()) in "".join(done.stdout.split())
    assert (tmp_path / "trace" / f"{STEMS['p4']}.svg").exists()


def test_a_kernel_is_stepped_through_and_its_status_is_that_of_check(tmp_path: Path) -> None:
    done = typed(
        "step", "2", "--file", str(ROOT / f"solutions/{STEMS['p2']}.py"), "--program", "1", cwd=tmp_path, ends=0
    )
    assert f"Written: step/{STEMS['p2']}.html. Open it in a browser." in done.stdout
    assert "steps of 4 programs" in done.stdout
    assert (tmp_path / "step" / f"{STEMS['p2']}.html").read_text().startswith("<!doctype html>")
    wrong = typed("step", "4", "--file", str(named("p4_padding_counted").write(tmp_path)), cwd=tmp_path)
    assert (
        wrong.returncode == 1
        and "It begins at line" in wrong.stdout
        and "where it first differs from the solution" in wrong.stdout
    )
    lost = str(named("p2_sum_replaced").write(tmp_path))
    first, other = (typed("step", "2", "--file", lost, "--program", n, cwd=tmp_path) for n in ("0", "1"))
    assert "first differs" in first.stdout and "first differs" not in other.stdout and other.returncode == 1


def test_in_chinese_too_and_a_launch_is_known_by_either_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", CHINESE)
    file = str(named("p4_padding_counted").write(tmp_path))
    said = typed("step", "4", "--file", file, cwd=tmp_path).stdout
    assert "它在这里第一次与参考解法不同。" in said
    listed = typed("step", "4", "--file", file, "--size", "nonsense", cwd=tmp_path).stderr
    name = next(line.strip() for line in listed.split("\n") if "x" in line and line.startswith("  "))
    assert has_wide(name)
    assert typed("step", "4", "--file", file, "--size", name, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("--program", "9"), 2, "has no program 9 here: they are 0 to 3"),
        (("--program", "-1"), 2, "Invalid value for '--program'"),
        (("--size", "nowhere"), 2, "No launch of p2 has “nowhere” in its name"),
        (("--into", "kernel.py/inside"), 2, "could not be written"),
    ],
    ids=["program", "negative", "size", "folder"],
)
def test_what_cannot_be_stepped_through_is_a_sentence(
    arguments: tuple[str, ...], status: int, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "kernel.py").write_text((ROOT / f"solutions/{STEMS['p2']}.py").read_text())
    done = typed("step", "2", "--file", "kernel.py", *arguments, cwd=tmp_path)
    assert done.returncode == status and sentence in done.stderr and "Traceback" not in done.stderr


SOLVED = (ROOT / "solutions" / f"{STEMS['p1']}.py").read_text()
STUB = SOLVED[: SOLVED.index("):\n") + 3] + "    # FILL IN\n    pass\n"
NOT_DRAWN = {
    "syntax": (SOLVED.replace("mask=mask)\n", "mask=mask\n"), 1, "Python cannot read this"),
    "forbidden": (
        SOLVED.replace("    mask =", "    import os\n    mask ="),
        1,
        "uses something that this course does not allow",
    ),
    "another kernel": (SOLVED.replace("naive_softmax_kernel", "my_kernel"), 1, "naive_softmax_kernel"),
    "zero bytes": (SOLVED + "\0", 1, "zero bytes"),
    "stub": (STUB, 4, "not started"),
}


@pytest.mark.parametrize(("text", "status", "sentence"), NOT_DRAWN.values(), ids=NOT_DRAWN)
def test_what_cannot_be_run_gets_its_report_and_no_picture(
    text: str, status: int, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "kernel.py").write_text(text)
    done = typed("trace", "1", "--file", "kernel.py", cwd=tmp_path, ends=status)
    assert sentence in done.stdout and "Written" not in done.stdout
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("9",), "There is no puzzle"),
        (("1", "--file", "nowhere.py"), "nowhere.py"),
        (("1", "--file", str(ROOT / f"solutions/{STEMS['p1']}.py"), "--into", "taken"), "could not be written"),
    ],
    ids=["no puzzle", "no file", "no folder"],
)
def test_misuse_is_a_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir(mode=0o500)
    if "taken" in arguments and os.geteuid() == 0:  # nothing is forbidden to root
        (tmp_path / "taken").rmdir()
        (tmp_path / "taken").symlink_to("/proc/self/nowhere")
    done = typed("trace", *arguments, cwd=tmp_path, ends=2)
    assert sentence in done.stderr and "Traceback" not in done.stderr


def test_no_kernel_runs_in_the_checkers_own_process(tmp_path: Path) -> None:
    """Nor is Triton ever imported there."""
    path = ROOT / "solutions" / f"{STEMS['p1']}.py"
    code = f"""
import sys
from pathlib import Path
from checker.check import check
from checker.submission.read import from_file
from checker.trace.run import traced
submission = from_file(Path({str(path)!r}))
assert traced(check("p1", submission)).launches
assert not {{"triton", "torch"}} & set(sys.modules)
"""
    ran(sys.executable, "-c", code, cwd=tmp_path, ends=0)
