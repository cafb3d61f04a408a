"""`train()` in a real kernel of IPython."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import importable
from tests.train.conftest import course_in, solved


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Any]:
    importable("torch")
    manager = importable("jupyter_client.manager")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(course_in(tmp_path)))
        started, client = manager.start_new_kernel(cwd=str(tmp_path))
        yield started, client
        client.stop_channels()
        started.shutdown_kernel(now=True)


def ran(client: Any, text: str, on_line: Any = lambda line: None) -> tuple[str, dict[str, str]]:
    """What a cell prints, and its result by MIME type."""
    printed: list[str] = []
    shown: dict[str, str] = {}

    def collect(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            printed.append(content["text"])
            on_line(content["text"])
        elif message["msg_type"] == "execute_result":
            shown.update(content["data"])
        elif message["msg_type"] == "error":
            pytest.fail("\n".join(content["traceback"]))

    client.execute_interactive(text, output_hook=collect, timeout=600)
    return "".join(printed), shown


def test_it_shows_lines_as_they_come_and_then_the_picture(kernel: Any, tmp_path: Path) -> None:
    """Once the cells define an attention that is right; an interrupt ends the training, and keeps what there is."""
    importable("matplotlib")
    started, client = kernel
    ran(client, "from checker.notebook import train")
    said, shown = ran(client, "train(steps=2)")
    assert "attention_forward" in said and "Nothing was trained" in said and "image/png" not in shown
    ran(client, solved())

    def interrupt(line: str) -> None:
        if "step 1 of" in line:
            started.interrupt_kernel()

    said, shown = ran(client, "train(steps=100000)", interrupt)
    assert "of 100000 steps: what there was is kept" in said
    assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
    assert (tmp_path / "train" / "train.json").exists()


def test_what_a_cell_raises_is_told_and_leaves_no_picture(kernel: Any) -> None:
    _, client = kernel
    ran(client, "from checker.notebook import train")
    ran(client, solved())
    ran(client, "def own_attention(q, k, v):\n    return q + missing")
    said, shown = ran(client, "train(steps=2)")
    assert "cell 3, line 2: NameError" in said and "image/png" not in shown


def test_elsewhere_it_says_what_to_type() -> None:
    from checker.notebook import train

    assert "make train" in train().text
