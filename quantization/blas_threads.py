"""One thread for the matrix products of NumPy, while they are many and small.

OpenBLAS lets its threads wait for the next product in a loop. Where products take microseconds, and other processes
want the processors, nearly all of the time goes there: up to ten times what one thread takes, and more of the clock's
as well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_PREFIXES, _SUFFIXES = ("scipy_openblas", "openblas"), ("64_", "")
"""Of the functions of OpenBLAS, as builds of NumPy have them."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it matrix products take one thread, where NumPy's library is OpenBLAS; others are left as they are."""
    library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    for prefix, suffix in ((prefix, suffix) for prefix in _PREFIXES for suffix in _SUFFIXES):
        get, put = (getattr(library, f"{prefix}_{verb}_num_threads{suffix}", None) for verb in ("get", "set"))
        if get is not None and put is not None:
            before = int(get())
            put(1)
            try:
                yield
            finally:
                put(before)
            return
    yield
