"""The course as a site: static pages that check a kernel in the browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import sphinx

from checker.course.language import ENGLISH, LANGUAGES, VARIABLE
from checker.course.places import PACKAGE, ROOT
from checker.publish import bundle
from checker.publish.site import pages
from checker.publish.site.assets import SiteError, copy_into

MADE_OF = ("benchmarks/results", "checker", "docs", "puzzles", "solutions")
SOURCES = Path("docs", "site")  # settings, templates, and what runs in the browser


def build(folder: Path, root: Path = ROOT, *, beside: bool = True) -> None:
    """Write the site in place of what is there. Raises OSError.

    A link that leads nowhere, or a formula that cannot be drawn, is a SiteError, and so is a folder that holds
    something else. `beside`: Pyodide lies next to the pages; else they take it from its CDN.
    """
    ours = (folder / "sw.js").exists() and (folder / ".buildinfo").exists()  # the latter is in any site of Sphinx's
    if folder.exists() and any(folder.iterdir()) and not ours:
        raise SiteError(f"{folder} holds something else than a site. Name a new folder, or an empty one.")
    with TemporaryDirectory() as made:
        sources, site = Path(made, "sources"), Path(made, "site")
        for language in LANGUAGES:  # all of them, before one is made: pages lead to what there is in others
            pages.write(sources / language, root, language)
        running = [_making(sources / language, site, root, language) for language in LANGUAGES]
        faults = [one.wait() for one in running]
        if any(faults):
            raise SiteError("The pages have faults, which stand above. Nothing was written.")
        shutil.copytree(root / SOURCES / "app", site / "app", ignore=shutil.ignore_patterns("*.md"))
        shutil.copyfile(root / SOURCES / "sw.js", site / "sw.js")
        of_page = PACKAGE / "trace" / "step"  # as a notebook's frame and a terminal's file have it
        for path in (*of_page.glob("*.js"), *of_page.glob("*.css")):
            shutil.copyfile(path, site / "app" / path.name)
        bundle.write(site / f"{bundle.NAME}.tar.gz", root)
        copy_into(site, root, beside=beside)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(site, folder)


def _making(sources: Path, site: Path, root: Path, language: str) -> subprocess.Popen[bytes]:
    """Start what makes the pages of a language: English at the top, the others below it."""
    options = ["-W", "--keep-going", "-q", "-d", f"{sources}.kept", "-c", f"{root / SOURCES}", f"{sources}"]
    command = [sys.executable, "-m", sphinx.__name__, *options, f"{site if language == ENGLISH else site / language}"]
    return subprocess.Popen(command, cwd=PACKAGE.parent, env=os.environ | {VARIABLE: language})


def up_to_date(folder: Path, root: Path = ROOT) -> bool:
    """Return whether a site is newer than all that it is made of."""
    built = folder / "app" / "files.json"
    if not built.exists():
        return False
    made_of = (path for name in MADE_OF for path in (root / name).rglob("*") if path.suffix != ".pyc")
    return max(path.stat().st_mtime for path in made_of) < built.stat().st_mtime
