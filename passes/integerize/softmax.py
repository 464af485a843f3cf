"""The constants of int_softmax."""

from __future__ import annotations

import numpy as np

from ...ops.integer import BYTES, SOFTMAX_UNIT_BITS
from .forms import Target

_LARGEST_ERROR = 0.1
"""In steps of the result: what the rounding of the sum may add to the last rounding."""


def exponentials(scale: float, count: int, target: Target) -> tuple[np.ndarray, dict[str, int]] | None:
    """The table of ``int_softmax`` for rows of ``count`` elements in steps of ``scale``, and its attributes ``step``
    and ``shift``.

    ``table[d]`` is ``first * e^(-d * scale)``, with ``first`` as large as the sum of a row allows. ``None`` where the
    result would not be accurate: its scale is coarse, it has more than 8 bits, or the row is very long.
    """
    step = round(2**32 * float(target.scale))
    if target.to not in BYTES or not 0 < step <= 2**31:
        return None
    longest = (2 ** (32 + SOFTMAX_UNIT_BITS) - 2**32) // step
    first = min(min(2**32 - 1, longest) // count, 2**31 - 1)
    least_unit = first * step + 2**31 >> 32
    shift = (least_unit - 1).bit_length() - 2
    if shift < 1 or 0.5 / (first * float(target.scale) ** 2) > _LARGEST_ERROR:
        return None
    table = np.rint(first * np.exp(-scale * np.arange(256, dtype=np.float64)))
    return table.astype(np.int32), {"step": step, "shift": shift}
