"""The suite on other versions of Python, triton and numpy: `python -m tests.versions`."""
