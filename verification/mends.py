"""What to try on a layer that loses much to quantization."""

from __future__ import annotations

from ..record import record
from ..report.accuracy import LayerAccuracy

_ENOUGH_DB = 45.0
_NEGLIGIBLE_SHARE = 0.02
"""A layer that is better than the one, or adds less than the other, is left alone."""


@record
class Tried:
    """What the quantization used already: the range method of the layer, and whether each of these was on."""

    range_method: str
    equalized: bool
    per_channel: bool
    adaptive_rounding: bool


def propose_mend(row: LayerAccuracy, tried: Tried) -> str | None:
    """The next thing to try: an option for all layers (``--...``), or a key for this one in ``ccml.toml``.

    What costs nothing at run time comes before a higher precision, which costs memory and time.
    """
    enough = row.own_sqnr_db is None or row.own_sqnr_db >= _ENOUGH_DB
    if row.cause is None or enough or row.noise_share < _NEGLIGIBLE_SHARE:
        return None
    return _MENDS[row.cause](tried, row.dtype)


def _clipping(tried: Tried, dtype: str) -> str:
    return 'range = "min-max"' if tried.range_method != "min-max" else "more calibration data"


def _rounding(tried: Tried, dtype: str) -> str:
    if not tried.equalized:
        return "--equalize"
    if tried.range_method == "min-max":
        return 'range = "mse"'
    return _higher_precision(dtype)


def _weights(tried: Tried, dtype: str) -> str:
    if not tried.per_channel:
        return "--weight-scales per-channel"
    return 'precision = "float"' if tried.adaptive_rounding else "--rounding adaptive"


def _higher_precision(dtype: str) -> str:
    return 'precision = "int16"' if dtype in ("i8", "u8") else 'precision = "float"'


_MENDS = {"clipping": _clipping, "rounding": _rounding, "weights": _weights}
