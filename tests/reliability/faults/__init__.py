"""Faults that are made for real; `python -m tests.reliability.faults` makes them."""

import os

# As `mdba` does, before anything that looks at them is imported.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
