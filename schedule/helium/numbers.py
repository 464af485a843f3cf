"""How block instructions of Helium requantize: by factors where these are exact, else by float32 scales."""

from __future__ import annotations

import numpy as np

from ...blocks.helium import PRE_SHIFT
from ...record import record
from ..byte_operands import Columns
from ..requantization import Requantization, rounded_form


@record
class Numbers:
    """What a block makes (the end of its name), the last of its scalars, and the factors in its stream, if any."""

    kind: str
    scalars: tuple[int, ...]
    factors: np.ndarray | None


def helium_numbers(rq: Requantization | None, operands: Columns, *, fixed: bool) -> Numbers:
    """For results with a requantization; ``None``: they stay accumulators. ``fixed``: there is a block with factors."""
    if rq is None:
        return Numbers("i32", (), None)
    factors = rounded_form(rq, *operands.bounds, PRE_SHIFT) if fixed and rq.least == -128 else None
    if factors is None:
        return Numbers("i8", (rq.zero_point, rq.least), rq.scale.astype(np.float32))
    return Numbers("fixed", (rq.zero_point,), factors)
