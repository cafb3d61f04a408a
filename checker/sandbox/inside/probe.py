"""A test that a process in a cage makes of itself: run inside, once, before the cage is trusted."""

from __future__ import annotations

import ctypes
import json
import os
import socket

from checker.sandbox.inside import seccomp

_CLONE_NEWUSER = 0x10000000


def main(forbidden: list[str]) -> None:
    """Print the facts as JSON. `forbidden`: paths that must not be seen."""
    with open("/proc/self/status") as file:
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    libc = ctypes.CDLL(None)
    facts = {
        "uid": os.getuid(),
        "capabilities": any(int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")),
        "no new privileges": status["NoNewPrivs"] == "1",
        "cage filter": status["Seccomp"] == "2",
        "new namespaces": libc.unshare(_CLONE_NEWUSER) == 0,
        "network": [name for _, name in socket.if_nameindex() if name != "lo"],
        "seen": [path for path in forbidden if os.path.exists(path)],  # noqa: PTH110 (no news is no sight)
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        "child filter": seccomp.enter(),
    }
    print(json.dumps(facts))
