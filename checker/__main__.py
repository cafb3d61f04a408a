"""`python -m checker`: see `checker.commands.cli`."""

import os
import sys
from importlib.util import find_spec

# Python puts the current folder first, where a student's numpy.py or json.py would win over the
# real one inside the judge. Last will do.
if sys.path and sys.path[0] in ("", os.getcwd()):
    sys.path.append(sys.path.pop(0) or os.getcwd())

# Before numpy is imported: the references multiply small matrices, and the other cores run kernels meanwhile.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    for needed in ("click", "rich", "numpy"):
        if find_spec(needed) is None:
            where = f"{sys.executable} has no {needed}, which the course needs"
            print(f"{where}. Type ./check p1, or on Windows: py -m pip install -e .", file=sys.stderr)
            sys.exit(2)

    from checker.commands.cli import main
except KeyboardInterrupt:
    print("Interrupted.", file=sys.stderr)
    sys.exit(130)

if __name__ == "__main__":
    main()
