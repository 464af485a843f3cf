"""How a model is to be quantized."""

from __future__ import annotations

from enum import Enum


class RangeMethod(str, Enum):
    """How the range of an activation is found from what was observed."""

    MIN_MAX = "min-max"
    MOVING_AVERAGE = "moving-average"
    PERCENTILE = "percentile"
    ENTROPY = "entropy"
    MSE = "mse"
