"""The constants of int_softmax."""

from __future__ import annotations

import numpy as np

from ...ops.integer import BYTES
from .forms import Target

_LARGEST_ERROR = 0.1
"""In steps of the result: what the rounding of the sum may add to the last rounding."""


def exponentials(scale: float, count: int, target: Target) -> tuple[np.ndarray, int] | None:
    """The table of ``int_softmax`` for rows of ``count`` elements in steps of ``scale``, and its attribute ``step``.

    ``table[d]`` is ``first * e^(-d * scale)``, with ``first`` as large as the sum of a row allows. ``None`` where the
    result would not be accurate: its scale is coarse, it has more than 8 bits, or the row is very long.
    """
    first = min((2**32 - 1) // count, 2**31)
    step = round(2**32 * float(target.scale))
    if target.to not in BYTES or not 0 < step <= 2**31 or 0.5 / (first * float(target.scale) ** 2) > _LARGEST_ERROR:
        return None
    table = np.rint(first * np.exp(-scale * np.arange(256, dtype=np.float64)))
    return table.astype(np.uint32), step
