"""Triton's Python files, out of the wheel that is installed here: for places where its binary cannot run."""

from __future__ import annotations

from importlib.metadata import distribution


def python_files() -> dict[str, bytes]:
    """Their bytes by name. PackageNotFoundError where Triton is not installed."""
    files = distribution("triton").files or ()
    ours = (file for file in files if file.parts[0] == "triton" and file.suffix == ".py")
    return {file.as_posix(): file.read_binary() for file in ours}


def notice() -> str:
    """Whose they are, and under which licence."""
    triton = distribution("triton")
    [licence] = [file for file in triton.files or () if file.name == "LICENSE"]
    return f"triton {triton.version}, its Python files: MIT\n\n{licence.read_text().strip()}"
