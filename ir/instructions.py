"""The instruction table: the functions that a loop-IR ``Call`` may name.

A row says what the function means; targets say in their data which of them they have, and the printers hold the
spelling for each backend. A row whose ``meaning`` is given can be evaluated in Python (by the interpreter of the
tests); every row has a portable C twin in ``runtime_c`` that gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .types import DType


@dataclass(frozen=True)
class Instruction:
    """One function, applied lane by lane.

    ``operands``/``result`` are element types, or ``None`` for "the common floating type of the call".
    ``meaning`` maps NumPy scalars to a NumPy scalar.
    """

    name: str
    operands: tuple[DType | None, ...]
    result: DType | None
    meaning: Callable[..., object]


def _fma(a: np.floating, b: np.floating, c: np.floating) -> np.floating:
    """One rounding: the product and sum of two float32 values fit a long double closely enough to round once."""
    if isinstance(a, np.float32):
        exact = math.fsum([float(a) * float(b), float(c)]) if math.isfinite(float(a) * float(b)) else a * b + c
        return np.float32(exact)
    return type(a)(np.longdouble(a) * np.longdouble(b) + np.longdouble(c))


INSTRUCTIONS: dict[str, Instruction] = {
    row.name: row
    for row in (
        Instruction("fma", (None, None, None), None, _fma),
        Instruction("sqrt", (None,), None, np.sqrt),
        Instruction("floor", (None,), None, np.floor),
        Instruction("ceil", (None,), None, np.ceil),
        Instruction("trunc", (None,), None, np.trunc),
        Instruction("round_even", (None,), None, np.rint),
    )
}
