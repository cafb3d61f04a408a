"""The cage of grading from inside, and what is left of it: in the tier that this user has.

What runs inside here may do more than a submission: the child's own filter is not in force.
`test_tier_b.py` runs this file again as an ordinary user, if root runs it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rich

from checker.sandbox.cage import cage as cages
from checker.sandbox.cage.cage import Cage, NoCage
from checker.sandbox.processes import Started
from tests.conftest import ROOT, caged_processes

pytestmark = pytest.mark.usefixtures("nothing_left")


def started(cage: Cage, script: str) -> Started:
    """A process inside that runs a text: any module with a main would do, and timeit's runs what it gets."""
    return cage.start(
        "timeit", [["-n1", "-r1", script]], {}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def inside(cage: Cage, script: str) -> str:
    """What a script prints inside."""
    child = started(cage, script)
    try:
        output, complaint = child.communicate(timeout=600)
    finally:
        child.end()
    assert child.returncode == 0, complaint.decode()
    return output.decode().rpartition("1 loop, best")[0].strip()


DENIED = """
def denied(call, *arguments):
    try: call(*arguments)
    except (OSError, RuntimeError): return
    print(call, arguments, "was allowed")
import ctypes, os, signal, socket
"""


def test_nothing_of_the_course_is_there(cage: Cage, tmp_path: Path) -> None:
    mark = f"of-process-{os.getpid()}"
    for name in (f"course.key-{mark}", f"gradebook.db-{mark}"):
        (tmp_path / name).write_text("secret")
    script = f"""
import os, sys
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if name != "site-packages" and folder + name not in ("/usr", "/proc")]
    for name in names:
        if {mark!r} in name or name in ("shadow", "passwd", "test_cage.py", "p1_naive_softmax.py", "seccomp.py"):
            print(folder, name)
"""
    assert inside(cage, script) == "/code/checker/sandbox/inside seccomp.py"
    for path in (tmp_path, ROOT / "solutions", ROOT / "puzzles", Path.home() / ".bashrc", Path("/etc/shadow")):
        assert inside(cage, f"import os; print(os.path.exists({str(path)!r}))") == "False"
    assert inside(cage, "import os; print(*sorted(os.listdir('/code/checker')))") == "__init__.py sandbox"


def test_a_home_inside_of_what_is_shown_is_covered(cage: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a student's home below /usr, or a course in the folder that Python is installed in."""
    [package] = rich.__path__
    for home in (package, "/usr/share"):
        script = f"import os; print(len(os.listdir({home!r})), os.path.exists('/usr/bin/env'))"
        full = inside(cage, script)
        monkeypatch.setenv("HOME", home)
        assert inside(cage, script) == "0 True" != full
        monkeypatch.setattr(cages, "_proven", set())
        cages.claim().close()  # the probe is content, too
        monkeypatch.undo()


@pytest.mark.usefixtures("cage")
@pytest.mark.parametrize("home", ["/", "/nowhere"])
def test_any_home_will_do_that_holds_nothing_needed(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(cages, "_proven", set())
    cages.claim().close()


@pytest.mark.usefixtures("cage")
def test_a_home_that_is_pythons_own_folder_cannot_be_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", sys.base_prefix)
    monkeypatch.setattr(cages, "_proven", set())
    with pytest.raises(NoCage, match="Python's own folder"):
        cages.claim()


def test_nothing_can_be_written_but_in_memory(cage: Cage) -> None:
    script = DENIED + (
        "for folder in ('/', '/usr', '/code', '/code/checker/sandbox', '/dev', '/etc', '/proc', '/usr/lib'):\n"
        "    denied(open, f'{folder}/left-behind', 'w'); denied(os.mkdir, f'{folder}/left-behind')\n"
        "denied(os.unlink, '/usr/bin/env'); denied(os.chmod, '/usr/bin/env', 0o4777)\n"
        "denied(open, '/code/checker/sandbox/inside/runner.py', 'a'); denied(open, '/proc/sys/kernel/hostname', 'w')\n"
    )
    assert inside(cage, script) == ""


def test_the_linker_tells_where_libraries_are(cage: Cage) -> None:
    """On a GPU Triton asks it for the driver's."""
    script = "import subprocess; print(subprocess.run(['/sbin/ldconfig', '-p'], capture_output=True).stdout.decode())"
    assert "libc.so.6" in inside(cage, script)


def test_what_memory_holds_is_bounded(cage: Cage) -> None:
    script = """
for folder in ("/tmp", "/dev/shm"):
    written = 0
    try:
        with open(f"{folder}/huge", "wb", buffering=0) as file:
            while written < 1 << 30: written += file.write(bytes(1 << 24))
    except OSError as error: pass
    print(folder, written >> 20)
"""
    assert inside(cage, script).split() == ["/tmp", "256", "/dev/shm", "64"]


def test_there_is_no_network(cage: Cage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as hidden:
        name = f"\0flash-puzzles-{os.getpid()}"
        hidden.bind(name)
        hidden.listen()
        address = server.getsockname()
        script = DENIED + (
            f"denied(socket.create_connection, {address!r}, 1)\n"
            f"denied(socket.socket(socket.AF_UNIX).connect, {name!r})\n"
            "print(*[name for _, name in socket.if_nameindex()])"
        )
        assert inside(cage, script) == "lo"
        socket.create_connection(address, 1).close()  # from outside both are there
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(name)


def test_no_other_process_is_seen_or_reached(cage: Cage) -> None:
    user = cage.slot.uid if cage.slot else os.getuid()
    become = ["setpriv", f"--reuid={user}", "--clear-groups"] if cage.slot else []
    other = subprocess.Popen([*become, "sleep", "600"], env={"PATH": "/usr/bin:/bin", "KEY": "secret"})
    try:
        script = DENIED + (
            f"denied(os.kill, {other.pid}, 9); denied(os.kill, {os.getpid()}, 9); denied(os.pidfd_open, {other.pid})\n"
            "print(*[pid for pid in os.listdir('/proc') if pid.isdigit()])\n"
        )
        assert [int(pid) for pid in inside(cage, script).split()] == [1, 2]
        child = started(cage, "import os; os.kill(-1, 9)")
        child.communicate(timeout=600)
        child.end()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_no_mounts_namespaces_tracing_or_keys(cage: Cage) -> None:
    script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "bind": lambda: libc.mount(b"/usr", b"/tmp", None, 0x1000, None),
    "umount": lambda: libc.umount2(b"/proc", 2),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "unshare user": lambda: libc.unshare(0x10000000),
    "unshare mounts": lambda: libc.unshare(0x20000),
    "setns": lambda: libc.setns(os.open("/proc/self/ns/user", os.O_RDONLY), 0),
    "ptrace": lambda: libc.ptrace(0, 0, 0, 0),
    "setuid": lambda: libc.setresuid(0, 0, 0) if os.getuid() else -1,
    "mknod": lambda: libc.mknod(b"/tmp/disk", 0o60600, 0),
    "user": lambda: libc.clone(ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0), bytes(1 << 16), 0x10000000 | 17, None),
}
print([name for name, call in calls.items() if call() >= 0])
print(libc.syscall(435, bytes(88), 88), ctypes.get_errno())
"""
    assert inside(cage, script).split("\n") == ["[]", "-1 38"]  # clone3: as if the kernel did not know it


def test_no_capability_is_left(cage: Cage) -> None:
    script = "print(*[l.split()[1] for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNew', 'Uid'))])"
    uid, *capabilities, no_new_privileges = inside(cage, script).split()
    assert int(uid) == (cage.slot.uid if cage.slot else os.getuid()) != 0
    assert {int(one, 16) for one in capabilities[:-1] if cage.slot} <= {0}
    assert {int(one, 16) for one in capabilities[:3]} == {0}
    assert no_new_privileges == "1"


def test_links_lead_nowhere(cage: Cage, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    script = DENIED + (
        f"os.symlink({str(tmp_path / 'key')!r}, '/tmp/link')\n"
        "denied(open, '/tmp/link')\n"
        "denied(open, '/tmp/../../../etc/passwd'); denied(open, '/proc/1/root/etc/passwd')\n"
        "denied(open, '/proc/self/root/etc/passwd'); denied(os.link, '/usr/bin/env', '/tmp/env')"
    )
    assert inside(cage, script) == ""


def test_a_daemon_ends_with_the_cage(cage: Cage) -> None:
    child = started(
        cage,
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for number in range(1, 32):\n"
        "        try: signal.signal(number, signal.SIG_IGN)\n"
        "        except OSError: pass\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.write(1, b'here')\n"
        "    time.sleep(600)\n"
        "time.sleep(600)",
    )
    assert child.stdout is not None
    assert os.read(child.stdout.fileno(), 4) == b"here"
    child.end()  # and `nothing_left` looks whether it is gone
    child.communicate()


def test_the_end_is_awaited(cage: Cage) -> None:
    """bubblewrap ends with its child; what the child has left may take longer, if it has much memory to give back."""
    script = (
        "import os\nreader, writer = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    much = b'x' * (1 << 29)\n"
        "    os.write(writer, b'x')\n"
        "    while True: pass\n"
        "os.read(reader, 1)\nos._exit(0)"
    )
    child = started(cage, script)
    child.wait()
    child.end()
    user = f"user {cage.slot.uid if cage.slot else os.getuid()}:"
    assert [one for one in caged_processes() if user in one] == []
    child.communicate()


def test_the_cage_ends_with_the_checker(cage: Cage) -> None:
    """Also if the checker is killed, and can do nothing about it."""
    script = (
        "import subprocess, sys, time\n"
        "from checker.sandbox.cage.cage import claim\n"
        "child = claim().start('timeit', [['-n1', '-r1', 'import time; print(1, flush=True); time.sleep(600)']],"
        " {}, stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); print('here', flush=True); time.sleep(600)"
    )
    checker = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert checker.stdout is not None and checker.stdout.readline() == b"here\n"
    checker.kill()
    checker.communicate()
    deadline = time.monotonic() + 300
    while caged_processes() and time.monotonic() < deadline:
        time.sleep(0.01)
