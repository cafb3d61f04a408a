"""The site as it is shown on this machine: compressed for who reads that, and made anew if something has changed."""

from __future__ import annotations

import gzip
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import importable

importable("sphinx")
from checker.publish.site import MADE_OF, serving, up_to_date  # noqa: E402

PAGE = "<p>the same line</p>\n" * 500


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "puzzles").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "puzzles" / "index.html").write_text(PAGE)
    (tmp_path / "course.tar.gz").write_bytes(b"packed already" * 100)
    with serving.server(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def got(address: str, **headers: str) -> tuple[bytes, str | None]:
    request = urllib.request.Request(
        address, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    with urllib.request.urlopen(request) as answer:
        return answer.read(), answer.headers["Content-Encoding"]


@pytest.mark.parametrize("page", ["", "index.html", "puzzles/", "index.html?again"])
def test_pages_are_compressed_for_who_reads_that(address: str, page: str) -> None:
    packed, encoding = got(address + page, Accept_Encoding="gzip, br")
    assert encoding == "gzip" and gzip.decompress(packed).decode() == PAGE and len(packed) < len(PAGE) // 10
    assert got(address + page) == (PAGE.encode(), None)


def test_what_is_packed_or_missing_is_sent_as_it_is(address: str, tmp_path: Path) -> None:
    assert got(f"{address}course.tar.gz", Accept_Encoding="gzip") == (b"packed already" * 100, None)
    for page in ("nowhere.html", "../secret.html"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            got(address + page, Accept_Encoding="gzip")


def test_a_file_that_changes_is_sent_anew(address: str, tmp_path: Path) -> None:
    got(f"{address}index.html", Accept_Encoding="gzip")
    (tmp_path / "index.html").write_text("new")
    os.utime(tmp_path / "index.html", ns=(1, 1))
    assert gzip.decompress(got(f"{address}index.html", Accept_Encoding="gzip")[0]) == b"new"


def test_a_site_is_up_to_date_until_something_that_it_is_made_of_changes(tmp_path: Path) -> None:
    for name in MADE_OF:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "one.py").write_text("1")
    site = tmp_path / "site"
    assert not up_to_date(site, tmp_path)
    (site / "app").mkdir(parents=True)
    (site / "app" / "files.json").write_text("{}")
    later = (tmp_path / "docs" / "one.py").stat().st_mtime + 10
    os.utime(site / "app" / "files.json", (later, later))
    assert up_to_date(site, tmp_path)
    for name in MADE_OF:
        os.utime(tmp_path / name / "one.py", (later + 1, later + 1))
        assert not up_to_date(site, tmp_path)
        os.utime(tmp_path / name / "one.py", (1, 1))
