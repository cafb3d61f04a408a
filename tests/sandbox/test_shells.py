"""Limits of the shell that are too low are reported, and never taken for the submission's mistake."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import ran


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("-v 900000", "878 MB of address space, and a check needs 1024"),
        ("-t 20", "20 seconds of computing, and a check needs 120"),
        ("-f 100", "KB in a file, and a check needs 1024"),
    ],
)
def test_a_limit_of_the_shell_is_no_mistake_of_the_kernels(limit: str, said: str) -> None:
    words = f"ulimit {limit} && exec {sys.executable} -m checker check w1 --file solutions/w1_vector_add.py"
    done = ran("bash", "-c", words, ends=3)
    assert said in " ".join(done.stdout.split()) and "not your code's fault" in done.stdout


def test_a_machine_without_a_place_for_temporary_files_is_no_mistake_of_the_kernels() -> None:
    """In a process that can write nowhere."""
    words = (
        "import sys, tempfile; tempfile._candidate_tempdir_list = lambda: ['/proc/nowhere']; "
        "from checker.commands.cli import main; main()"
    )
    done = ran(sys.executable, "-c", words, "check", "w1", "--file", "solutions/w1_vector_add.py", ends=3)
    assert "TMPDIR may name one" in " ".join(done.stdout.split()) and "not your code's fault" in done.stdout
