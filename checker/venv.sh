#!/bin/sh
# venv.sh PYTHON GIVEN: say which Python .venv is made with, and remove a .venv of ours that no longer fits.
#
# A .venv fits as long as neither its folder nor the Python behind it has changed. GIVEN is "given" if
# the user named PYTHON; otherwise a .venv keeps the Python that it was made with.
set -u
python=$1
given=$2
note=.venv/.made-for

if [ -f "$note" ]; then
    { read -r folder; read -r asked; read -r real; } <"$note"
    if [ "$given" != given ]; then
        python=$asked
        command -v "$python" >/dev/null || python=$1
    fi
    if [ "$folder" = "$PWD" ] && [ "$asked" = "$python" ] && [ "$(readlink -f .venv/bin/python)" = "$real" ] &&
        [ -x "$real" ]; then
        printf '%s\n' "$python"
        exit
    fi
fi
if [ -L .venv ] || { [ -n "$(ls -A .venv 2>/dev/null)" ] && ! [ -f "$note" ] && ! [ -f .venv/.begun ]; }; then
    echo "There is a .venv here that make has not made: an editor's, uv's, or your own. It stays as it is." >&2
    echo "To use it, add VENV=.venv to what you type. To have make install what is needed: mv .venv my-venv" >&2
    exit 2
fi
if [ -f "$note" ]; then
    "$(dirname "$0")/supported.sh" "$python" || exit
fi
rm -rf .venv # of another folder or Python, or not finished
printf '%s\n' "$python"
