#!/bin/sh
# venv.sh PYTHON GIVEN: say which Python .venv is made with, and remove a .venv that no longer fits.
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
    "$(dirname "$0")/supported.sh" "$python" || exit
    rm -rf .venv
elif [ -d .venv ]; then
    rm -rf .venv # begun and not finished
fi
printf '%s\n' "$python"
