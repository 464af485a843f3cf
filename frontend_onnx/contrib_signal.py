"""Spectra and products of complex numbers of ONNX Runtime's own domain; these have their two parts in the last axis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from .contrib_body import Body, Rule, Unsupported


def _check_form(body: Body) -> None:
    if body.attributes.get("signal_ndim", 1) != 1:
        raise Unsupported("a signal of several dimensions")
    if body.attributes.get("normalized", 0) or not body.attributes.get("onesided", 1):
        raise Unsupported("a normalized or two-sided spectrum")


def _parts(body: Body, x: str) -> list[str]:
    return body.emit_all("Split", [x], 2, axis=-1, num_outputs=2)


def _spectrum(body: Body) -> str:
    """Of ``[..., n]`` numbers, ``[..., n // 2 + 1, 2]``."""
    _check_form(body)
    signal = body.emit("Unsqueeze", body.input(0), body.integers(-1))
    return body.emit("DFT", signal, "", body.integers(-2), onesided=1)


def _inverse(body: Body) -> str:
    """Of a spectrum ``[..., m, 2]``, ``[..., 2 * (m - 1)]`` numbers: the other half of the spectrum is conjugate."""
    _check_form(body)
    *ahead, half, _ = body.shape(0)
    if half < 2 or body.shape(0)[-1] != 2:
        raise ValueError(f"a spectrum {list(body.shape(0))}")
    back = body.constant(np.arange(half - 2, 0, -1))
    conjugate = body.constant(np.array([1, -1], body.dtype(0)))
    rest = body.emit("Mul", body.emit("Gather", body.input(0), back, axis=len(ahead)), conjugate)
    whole = body.emit("Concat", body.input(0), rest, axis=len(ahead))
    real, _ = _parts(body, body.emit("DFT", whole, "", body.integers(-2), inverse=1))
    return body.emit("Squeeze", real, body.integers(-1))


def _product(body: Body, conjugate: bool) -> str:
    """A by B, or by the conjugate of B."""
    (a, b), (c, d) = (_parts(body, body.input(place)) for place in range(2))
    d = body.emit("Neg", d) if conjugate else d
    real = body.emit("Sub", body.emit("Mul", a, c), body.emit("Mul", b, d))
    imaginary = body.emit("Add", body.emit("Mul", a, d), body.emit("Mul", b, c))
    return body.emit("Concat", real, imaginary, axis=-1)


RULES: Mapping[str, Rule] = {
    "ComplexMul": partial(_product, conjugate=False),
    "ComplexMulConj": partial(_product, conjugate=True),
    "Irfft": _inverse,
    "Rfft": _spectrum,
}
"""By name."""
