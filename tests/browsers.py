"""A Jupyter server, and real browsers to look at it with."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, importable, need

TOKEN = "secret"


@contextlib.contextmanager
def jupyter(
    command: Callable[[str], Sequence[str]], folder: Path, variables: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of a server, once it answers. `command`: from Jupyter's own options to what starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        command(f"--no-browser --allow-root --port={port} --IdentityProvider.token={TOKEN}"),
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}api/status?token={TOKEN}").close()
                break
            except OSError:
                time.sleep(0.25)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGINT)
        time.sleep(0.5)
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


@contextlib.contextmanager
def browser(name: str = "chromium") -> Iterator[Any]:
    """Headless Chromium or Firefox."""
    need(name)
    sync_api = importable("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        where = {"executable_path": shutil.which(name)}
        if name == "firefox":  # as Mozilla and Debian build it: Playwright's own cannot be had from a package registry
            started = playwright.firefox.launch(channel="moz-firefox", **where)
        else:
            started = playwright.chromium.launch(args=["--no-sandbox"], **where)
        yield started
        started.close()


@contextlib.contextmanager
def blank_page() -> Iterator[Any]:
    """An empty page of Chromium."""
    with browser() as started:
        page = started.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        yield page


def picture(page: Any, name: str) -> None:
    """Keep a screenshot, in build/screenshots unless SCREENSHOTS names another folder."""
    folder = Path(os.environ.get("SCREENSHOTS", ROOT / "build" / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")


def violations(page: Any, selector: str) -> list[str]:
    """What axe-core finds wrong with some elements of a page, for those who see little or use no mouse."""
    axe = importable("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, context={"include": [[selector]]}).response["violations"]
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]
