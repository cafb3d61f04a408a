#!/usr/bin/env bash
# Gradescope runs this once, as root, while it builds the image: what grading needs is installed here.
set -euo pipefail
cd "$(dirname "$0")"

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap util-linux python3 python3-venv
sh checker/supported.sh python3
python3 -m venv .venv
.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -r requirements.txt
.venv/bin/python -c 'import checker.publish.gradescope.run, numpy, triton' # better now than with the first submission
