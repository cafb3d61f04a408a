"""The site as `make site` writes it, for all tests that look at it."""

from __future__ import annotations

import fcntl
import warnings
from pathlib import Path

import pytest

from tests.conftest import importable, need

SITE = "checker.publish.site"  # which needs Sphinx


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Its folder. Processes that run the tests together build it once, and read it only."""
    site = importable(SITE)
    need("npm")
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Sphinx says to MyST
                site.build(folder)
    return folder
