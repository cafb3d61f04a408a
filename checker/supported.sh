#!/bin/sh
# Say in a sentence why this machine cannot run the course, or nothing.
set -u
python=$1

refuse() {
    echo "$1" >&2
    exit 2
}

[ "$(uname -s)" = Linux ] || refuse \
    "Triton runs on Linux only. On Windows use WSL2, on macOS a Linux container or a remote host."
case $(uname -m) in
x86_64 | aarch64) ;;
*) refuse "Triton is built for x86-64 and aarch64 only; this machine is $(uname -m)." ;;
esac
command -v "$python" >/dev/null || refuse "There is no $python here. Install Python 3.10 to 3.14, or say which: PYTHON=/path/to/python."
"$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' || refuse \
    "$python is $("$python" -V 2>&1), but Python 3.10 to 3.14 is needed. Say which: PYTHON=/path/to/python."
"$python" -c 'import venv, ensurepip' 2>/dev/null || refuse \
    "$python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv."
