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
from functools import partial
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


class Firefox:
    """Firefox as Mozilla and Debian build it: Playwright's own cannot be had from a package registry.

    It hears of what a reader prefers from settings that it starts with, so one is started for each kind of reader.
    Playwright's `emulate_media` does nothing to it.
    """

    def __init__(self, launch: Callable[[Mapping[str, int]], Any]) -> None:
        self.launch = launch
        self.started: dict[tuple[str, str], Any] = {}

    def new_context(self, *, color_scheme: str = "light", reduced_motion: str = "no-preference", **how: Any) -> Any:
        reader = color_scheme, reduced_motion
        if reader not in self.started:
            self.started[reader] = self.launch(
                {
                    "layout.css.prefers-color-scheme.content-override": ["dark", "light"].index(color_scheme),
                    "ui.prefersReducedMotion": ["no-preference", "reduce"].index(reduced_motion),
                }
            )
        return self.started[reader].new_context(**how)

    def new_page(self, **how: Any) -> Any:
        return self.new_context(**how).new_page()

    def close(self) -> None:
        for one in self.started.values():
            one.close()


@contextlib.contextmanager
def browser(name: str = "chromium", **how: Any) -> Iterator[Any]:
    """Headless Chromium or Firefox. `how`: more that Playwright is told when it starts one."""
    need(name)
    sync_api = importable("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        launch = partial(getattr(playwright, name).launch, executable_path=shutil.which(name), **how)
        if name == "firefox":
            started = Firefox(lambda settings: launch(channel="moz-firefox", firefox_user_prefs=settings))
        else:
            started = launch(args=["--no-sandbox"])
        yield started
        started.close()


@contextlib.contextmanager
def blank_page() -> Iterator[Any]:
    """An empty page of Chromium."""
    with browser() as started:
        page = started.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        yield page


def write(place: Any, text: str) -> None:
    """Put a text in place of what an editor or a field has. In Firefox, Playwright's `fill` leaves some of that."""
    place.press("Control+a")
    place.press("Delete")
    place.page.keyboard.insert_text(text)


def saved(page: Any, selector: str, downloads: Path) -> Path:
    """The file that a click saves, under its name. `downloads`: the folder that the browser was started with."""
    if page.context.browser.browser_type.name == "chromium":
        with page.expect_download() as waiting:
            page.click(selector)
        file: Path = downloads / waiting.value.suggested_filename
        waiting.value.save_as(file)
        return file
    # Firefox tells of a download without a number, and Playwright passes over it. But the file gets there.
    before = set(downloads.glob("*"))
    page.click(selector)
    for _ in range(600):
        for file in set(downloads.glob("*")) - before:
            if file.suffix != ".part" and file.stat().st_size:
                return file
        page.wait_for_timeout(100)
    raise TimeoutError(f"{selector} saved nothing")


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
