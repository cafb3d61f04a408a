"""The course as a site: static pages that check a kernel in the browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.cmd.build import build_main

from checker.course.places import ROOT
from checker.publish.site import pages

SOURCES = Path("docs", "site")  # settings, templates, and what runs in the browser


class SiteError(Exception):
    """The pages could not be made: Sphinx has said why."""


def build(folder: Path, root: Path = ROOT) -> None:
    """Write the site. A link that leads nowhere, or a formula that cannot be drawn, is a SiteError."""
    with TemporaryDirectory() as sources, TemporaryDirectory() as kept:
        pages.write(Path(sources), root)
        options = ["-W", "--keep-going", "-q", "-E", "-d", kept, "-c", str(root / SOURCES)]
        if build_main([*options, sources, str(folder)]):
            raise SiteError("The pages have faults: see above.")
    shutil.copytree(root / SOURCES / "app", folder / "app", dirs_exist_ok=True)
