"""On a real GPU: `PYTHONPATH=. python3 -m pytest tests/gpu`. Needs torch, triton, numpy and pytest only."""
