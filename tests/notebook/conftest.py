"""A real IPython kernel, as any front end starts one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ROOT, importable

IMPORTS = "import triton\nimport triton.language as tl"
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "_IncompleteInputError")  # the last one since Python 3.13


class Kernel:
    """A real IPython kernel, as any front end starts one."""

    def __init__(self, client: Any):
        self.client = client
        self.count = 0  # of the cell that was run last

    def __call__(self, text: str) -> dict[str, str]:
        """Run one cell; its result by MIME type. A traceback fails the test."""
        shown: dict[str, str] = {}

        def collect(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] in ("execute_result", "display_data"):
                shown.update(content["data"])
            elif message["msg_type"] == "error" and content["ename"] not in SYNTAX_ERRORS:
                pytest.fail("\n".join(content["traceback"]))

        reply = self.client.execute_interactive(text, output_hook=collect, timeout=600)
        self.count = reply["content"]["execution_count"]
        return shown


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    manager = importable("jupyter_client.manager")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(ROOT))
    kernel, client = manager.start_new_kernel(cwd=str(tmp_path_factory.mktemp("elsewhere")))
    yield client
    client.stop_channels()
    kernel.shutdown_kernel(now=True)
    patch.undo()


@pytest.fixture
def cell(process: Any) -> Kernel:
    """The kernel, as if it had just been started."""
    run = Kernel(process)
    run("get_ipython().history_manager.reset()\nget_ipython().history_manager.input_hist_raw[:] = ['']")
    run(IMPORTS + "\nfrom checker.notebook import bench, check, compiled, run, step, trace")
    return run
