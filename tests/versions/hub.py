"""`python -m tests.versions.hub [USERS]`: a JupyterHub as `docs/platforms.md` sets one up, and users who check at once.

The course, the Hub and its settings are those of that page. Only what no test machine has is replaced: Docker, by a
view of the files in which each user has one home, and who may sign in. Each user opens a notebook, fills in the
solution, runs it and must be told "accepted"; nobody may see another's files; and idle kernels must go. Needs bwrap and
npm, and downloads 250 MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, SOLUTION, importable

NOTEBOOK = "flash-puzzles/notebooks/p1_naive_softmax.ipynb"
IDLE = "cull_idle_timeout=1800"  # as the page has it
FOR_THE_TRIAL = """
from jupyterhub.spawner import SimpleLocalProcessSpawner

class Apart(SimpleLocalProcessSpawner):
    def start(self):
        own = f"{homes}/{{self.user.name}}"
        view = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "{homes}", "--bind", own, own, "--chdir", own]
        self.cmd = [*view, "--die-with-parent", *self.cmd]
        return super().start()

c.JupyterHub.spawner_class = Apart
c.SimpleLocalProcessSpawner.home_dir_template = "{homes}/{{username}}"
c.Spawner.args += ["--allow-root"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
c.JupyterHub.concurrent_spawn_limit = 0
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.services = [{{"name": "trial", "api_token": "{token}", "admin": True}}]
"""


class Hub:
    """The Hub and users' servers, as seen with one token."""

    def __init__(self, address: str, token: str):
        self.address, self.token = address, token

    def asked(self, path: str, method: str = "GET", body: object = None) -> Any:
        """The answer, from JSON. HTTPError if it is refused."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read() or b"null")

    def refused(self, path: str) -> bool:
        """Whether that is forbidden to this one."""
        try:
            self.asked(path)
        except urllib.error.HTTPError as error:
            return error.code in (403, 404)
        return False

    def ran(self, kernel: str, server: str, code: str) -> str:
        """What a cell says, run in a kernel of a user's server."""
        connect = importable("websocket").create_connection
        address = f"{self.address}{server}/api/kernels/{kernel}/channels".replace("http", "ws", 1)
        channel = connect(address, header=[f"Authorization: token {self.token}"], timeout=300)
        with contextlib.closing(channel):
            number = secrets.token_hex(8)
            header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number}
            content = {"code": code, "silent": False, "store_history": True}
            message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
            channel.send(json.dumps(message))
            said = ""
            while True:
                got = json.loads(channel.recv())
                if got["parent_header"].get("msg_id") != number:
                    continue
                content = got["content"]
                said += content.get("text", "") + str(content.get("data", {}).get("text/plain", ""))
                said += "\n".join(content.get("traceback", []))
                if got["msg_type"] == "status" and content["execution_state"] == "idle":
                    return said


def block(name: str) -> str:
    """What an instructor copies from the page."""
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert found, name
    return found[1]


def until(done: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for something that a busy machine takes its time for."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.5)


def install(folder: Path, python: Path) -> dict[str, str]:
    """The course and a Hub as the page installs them; the variables with which they are found."""
    course = folder / "course"
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*build, "--no-build-isolation", "-w", course, "."], cwd=ROOT, check=True)
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    modules = folder / "node_modules" / ".bin"
    variables = {**os.environ, "PATH": f"{folder / 'venv' / 'bin'}:{modules}:{os.environ['PATH']}"}
    variables |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1"}
    variables.pop("PYTHONPATH", None)
    for line in re.findall(r"^RUN (pip .*)$", block("image"), re.MULTILINE):
        subprocess.run(["sh", "-c", f"{line} dockerspawner"], cwd=course, env=variables, check=True)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", "configurable-http-proxy"]
    subprocess.run(npm, cwd=folder, env=variables, check=True)
    return variables


def unknown(variables: dict[str, str]) -> str:
    """The page's settings that JupyterHub and DockerSpawner do not have."""
    asked = sorted(set(re.findall(r"\bc\.(\w+)\.(\w+)", block("hub"))))
    code = f"""
        from dockerspawner import DockerSpawner
        from jupyterhub.app import JupyterHub
        from jupyterhub.spawner import Spawner

        classes = dict(DockerSpawner=DockerSpawner, JupyterHub=JupyterHub, Spawner=Spawner)
        print(*(f"{{c}}.{{name}}" for c, name in {asked} if not classes[c].class_traits(config=True).get(name)))
    """
    line = ["python", "-c", textwrap.dedent(code)]
    return subprocess.run(line, env=variables, check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def hub(folder: Path, variables: dict[str, str]) -> Iterator[Hub]:
    """A Hub with the page's settings, and one who may do everything there."""
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(3)]
        for one in free:
            one.bind(("127.0.0.1", 0))
        port, hub_port, proxy_port = (one.getsockname()[1] for one in free)
    homes, token = folder / "homes", secrets.token_hex(16)
    homes.mkdir()
    instead = FOR_THE_TRIAL.format(homes=homes, port=port, hub_port=hub_port, proxy_port=proxy_port, token=token)
    settings = block("hub").replace(IDLE, "cull_idle_timeout=20").replace("cull_interval=60", "cull_interval=2")
    (folder / "jupyterhub_config.py").write_text(settings + instead, encoding="utf-8")
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            ["jupyterhub"], cwd=folder, env=variables, stdout=log, stderr=log, start_new_session=True
        )
    everything = Hub(f"http://127.0.0.1:{port}", token)
    try:
        until(lambda: answers(everything), 120, (folder / "log").read_text()[-3000:])
        yield everything
    finally:
        server.send_signal(signal.SIGTERM)  # it ends the users' servers, and its proxy
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)


def answers(hub: Hub) -> bool:
    """Whether the Hub is there already."""
    try:
        return bool(hub.asked("/hub/api/"))
    except OSError:
        return False


class User:
    """One who works in a server of their own."""

    def __init__(self, everything: Hub, name: str, home: Path):
        home.mkdir()
        self.name, self.home, self.server = name, home, f"/user/{name}"
        everything.asked(f"/hub/api/users/{name}", "POST")
        self.hub = Hub(everything.address, everything.asked(f"/hub/api/users/{name}/tokens", "POST")["token"])

    def start(self) -> None:
        """Have one's server started, and a kernel for the notebook, in whose first code cell the solution is put."""
        self.hub.asked(f"/hub/api/users/{self.name}/server", "POST")
        user = f"/hub/api/users/{self.name}"
        until(lambda: self.hub.asked(user)["servers"].get("", {}).get("ready"), 300, f"{self.name} has no server")
        place = f"{self.server}/api/contents/{NOTEBOOK}"
        self.book = self.hub.asked(place)["content"]
        lesson = SOLUTION[SOLUTION.index("@triton.jit") :]
        [kernel] = (cell for cell in self.book["cells"] if "def naive_softmax_kernel" in cell["source"])
        kernel["source"] = lesson
        self.hub.asked(place, "PUT", {"type": "notebook", "content": self.book})
        session = {"path": NOTEBOOK, "name": "", "type": "notebook", "kernel": {"name": "python3"}}
        self.kernel = self.hub.asked(f"{self.server}/api/sessions", "POST", session)["kernel"]["id"]

    def checked(self) -> tuple[str, float]:
        """What the notebook's cells say, from the first to the one that checks; and in how many seconds that does."""
        said, seconds = "", 0.0
        for cell in self.book["cells"]:
            if cell["cell_type"] == "code" and not re.search(r"^(run|predict)\(", cell["source"], re.MULTILINE):
                begun = time.monotonic()
                said += self.ran(cell["source"])
                if re.search(r"^check\(", cell["source"], re.MULTILINE):
                    seconds = time.monotonic() - begun
        return said, seconds

    def ran(self, code: str) -> str:
        """What a cell says in one's own kernel."""
        return self.hub.ran(self.kernel, self.server, code)


def tried(python: Path, count: int = 10) -> str:
    """One line on what so many users saw who checked at the same time. AssertionError if anything was otherwise."""
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(count) as pool:
        folder = Path(temporary)
        variables = install(folder, python)
        assert not unknown(variables), unknown(variables)
        with hub(folder, variables) as everything:
            users = [User(everything, f"u{number}", folder / "homes" / f"u{number}") for number in range(count)]
            list(pool.map(User.start, users))
            begun = time.monotonic()
            told = list(pool.map(User.checked, users))
            took = time.monotonic() - begun
            for user, (said, _) in zip(users, told, strict=True):
                assert "accepted  100/100" in said, said[-3000:]
                assert (user.home / "flash-puzzles" / "progress.txt").exists()
            one, other = users[:2]
            assert one.hub.refused(f"{other.server}/api/contents/{NOTEBOOK}")
            seen = one.ran(f"import os; print(os.listdir({str(folder / 'homes')!r}))")
            assert seen.strip() == repr([one.name]), seen
            until(lambda: not one.hub.asked(f"{one.server}/api/kernels"), 120, "an idle kernel stays")
            slowest = max(seconds for _, seconds in told)
    return (
        f"{count} users of a JupyterHub checked p1 at once, on {len(os.sched_getaffinity(0))} cores: all accepted, the "
        f"slowest check after {slowest:.1f} s, all notebooks after {took:.0f} s"
    )


if __name__ == "__main__":
    assert shutil.which("bwrap") and shutil.which("npm")
    print(tried(Path(sys.executable), *map(int, sys.argv[1:2])))
