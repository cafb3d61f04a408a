"""The build backend for `pip` and `build`: setuptools, and for a wheel the files of `stage`.

An editable install is setuptools' own, and so is the source distribution. PEP 517 says what each hook gets and gives.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Triton, for its Python files, and NumPy, which the catalog imports: as they are pinned."""
    pins = Path("constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [pin for pin in pins if pin.startswith(("triton==", "numpy=="))]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *pinned]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Return the wheel's name; it lies in the folder."""
    root, place = Path.cwd(), Path(wheel_directory).resolve()
    sys.path.insert(0, str(root))
    from checker.publish.wheel.stage import stage

    with TemporaryDirectory() as folder:
        stage(Path(folder), root)
        os.chdir(folder)
        try:
            return str(build_meta.build_wheel(str(place), config_settings))
        finally:
            os.chdir(root)
