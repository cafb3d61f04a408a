"""matplotlib, which only pictures need: `make` has it installed once there is something to draw."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.util import find_spec

INSTALL = "CHECKER_INSTALL_MATPLOTLIB"  # in the environment: the command that installs it


def can_draw() -> bool:
    """Whether matplotlib is there, after installing it if `make` has said how."""
    if find_spec("matplotlib") is None and (command := os.environ.get(INSTALL)):
        sys.stdout.flush()
        subprocess.run(command, shell=True, check=False)
        importlib.invalidate_caches()
    return find_spec("matplotlib") is not None
