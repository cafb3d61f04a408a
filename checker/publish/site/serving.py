"""Shows a site to browsers on this machine, compressed as any web server would send it."""

from __future__ import annotations

import gzip
import io
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

PORT = 8000  # always the same: a browser keeps drafts and progress for an address
COMPRESSED = {".css", ".html", ".js", ".json", ".mjs", ".svg", ".txt", ".wasm"}


class _Handler(SimpleHTTPRequestHandler):
    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Send what comes before a file; the file, compressed if the browser reads that and it gets smaller."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() and self.path.partition("?")[0].endswith("/") else path
        reads = "gzip" in self.headers.get("Accept-Encoding", "")
        if not reads or path.suffix not in COMPRESSED or not path.is_file():
            return super().send_head()
        data = _compressed(path, path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        return io.BytesIO(data)


@cache
def _compressed(path: Path, modified: int) -> bytes:
    return gzip.compress(path.read_bytes(), 6)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing: a browser that leaves a page breaks off what it had asked for."""


def server(folder: Path, port: int = PORT) -> ThreadingHTTPServer:
    """Return what shows a folder to browsers on this machine. Raises OSError if the port is taken."""
    return _Server(("127.0.0.1", port), partial(_Handler, directory=folder))
