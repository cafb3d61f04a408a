#!/bin/sh
# Say in a sentence why this machine cannot run the course, or nothing.
set -u
python=$1

refuse() {
    echo "$1" >&2
    exit 2
}

case $(uname -s)${LIGHT:-} in
Darwin* | Linux1) ;; # without Triton itself
Linux*)
    case $(uname -m) in
    x86_64 | aarch64) ;;
    *) refuse "Triton is built for x86-64 and aarch64 only; this machine is $(uname -m). Add LIGHT=1 to check without it." ;;
    esac
    ;;
*) refuse "make and ./check are for Linux and macOS. On Windows type: py -m checker check p1, or use WSL2." ;;
esac
command -v "$python" >/dev/null || refuse "There is no $python here. Install Python 3.10 to 3.14, or say which: PYTHON=/path/to/python."
"$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' || refuse \
    "$python is $("$python" -V 2>&1), but Python 3.10 to 3.14 is needed. Say which: PYTHON=/path/to/python."
"$python" -c 'import venv, ensurepip' 2>/dev/null || refuse \
    "$python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv."
