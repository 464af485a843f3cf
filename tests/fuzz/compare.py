"""Whether results of compiled code are those of the model.

Two computations in floats differ by rounding, and where a comparison, a rounding or a choice of the largest follows,
by anything. So a result that is not close to the expected one is compared again, element by element, with several
computations whose intermediate floats were changed by about what rounding may change them: a float has to be close to
one of them or between two. Where these differ altogether, nothing can be said of an element.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from tests.fuzz.build import FLOATS, Parts
from tests.fuzz.oracle import evaluate

_TOLERANCE = {"float16": 6e-3, "float32": 1e-4, "float64": 2e-6}
"""Of the largest element. Functions of float64 are made of such of float32 on no target; float16 has 11 bits."""

_NOISE = {"float16": (5e-4, 2e-3), "float32": (1e-6, 1e-5), "float64": (1e-9, 1e-7), "bfloat16": (4e-3, 8e-3)}
"""Of an element, and of the largest one: half a step of float16, some of the others; sums and functions more."""
_TRIES = 48

_CANCELS = ("Gelu", "BiasGelu", "FastGelu")
"""Whose results, x / 2 * (1 + erf(..)), have the rounding of x: where x is far below 0, most of them is that."""


def close(found: np.ndarray, wanted: np.ndarray, steps: int = 0) -> np.ndarray:
    """Which elements are equal, or for floats close; integers at most ``steps`` apart."""
    if wanted.dtype.name not in FLOATS:
        return np.abs(found.astype(np.int64) - wanted.astype(np.int64)) <= steps if steps else found == wanted
    lhs, rhs = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.abs(rhs[np.isfinite(rhs)])
    bound = _TOLERANCE[wanted.dtype.name] * np.maximum(np.abs(rhs), min(float(finite.max(initial=0.0)), 1e30) or 1e-30)
    with np.errstate(all="ignore"):
        near = np.abs(lhs - rhs) <= np.where(np.isfinite(rhs), bound, 0)
    tiny = (np.abs(lhs) < 1e-6) & (np.abs(rhs) < 1e-6)
    edge = 65504 * (1 - 6e-3) if wanted.dtype.name == "float16" else np.inf
    overflow = (np.abs(lhs) >= edge) & (np.abs(rhs) >= edge) & (np.sign(lhs) == np.sign(rhs))
    return near | (lhs == rhs) | (np.isnan(lhs) & np.isnan(rhs)) | tiny | (overflow if isfinite(edge) else False)


def mismatch(parts: Parts, found: Mapping[str, np.ndarray]) -> tuple[str, str] | None:
    """What is wrong with the outputs of a model of ``parts``; ``None`` where nothing is.

    The kind is ``disputed`` where only the reference evaluator agrees. ONNX Runtime in float32 counts where it lacks
    a type: the reference has no old definitions of some operators.
    """
    suspects: dict[str, np.ndarray] = {}
    for name, wanted in parts.outputs.items():
        result = found[name]
        if result.shape != wanted.shape or result.dtype != wanted.dtype:
            return "wrong", f"{name}: {result.dtype}{list(result.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        same = close(result, wanted, parts.steps)
        if not same.all():
            suspects[name] = same
    if not suspects:
        return None
    text = _difference(parts, found, suspects)
    for authority in ("first", "float32", "reference"):
        spans = {name: Span(found[name]) for name in suspects}
        for seed in range(_TRIES):
            values = _recomputed(parts, seed, authority)
            for name, span in spans.items():
                other = values.get(name)
                if other is not None and (other.shape, other.dtype) == (found[name].shape, found[name].dtype):
                    span.add(other)
                    suspects[name] = suspects[name] | close(found[name], other, parts.steps) | span.holds()
            if all(same.all() for same in suspects.values()):
                return ("disputed", text) if authority == "reference" else None
    return "wrong", _difference(parts, found, suspects)


class Span:
    """What each element of ``array`` came to in several computations that differ by rounding."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array.astype(np.float64)
        self.low, self.high = np.full(array.shape, np.inf), np.full(array.shape, -np.inf)
        self.exact = array.dtype.name not in FLOATS
        self.numbers, self.others = np.zeros(array.shape, bool), np.zeros(array.shape, bool)

    def add(self, array: np.ndarray) -> None:
        array = array.astype(np.float64)
        self.low, self.high = np.fmin(self.low, array), np.fmax(self.high, array)
        self.numbers |= np.isfinite(array)
        self.others |= ~np.isfinite(array)

    def holds(self) -> np.ndarray:
        """Where the element is between two of them; or where rounding decides all about it: they differ, and it is an
        integer, or by half of what they are, or some are no finite numbers."""
        with np.errstate(all="ignore"):
            width, size = self.high - self.low, np.maximum(np.abs(self.low), np.abs(self.high))
            between = (self.low <= self.array) & (self.array <= self.high)
            anything = (width > 0) if self.exact else (width > size / 2)
        return between | anything | (self.numbers & self.others)


def _difference(parts: Parts, found: Mapping[str, np.ndarray], suspects: Mapping[str, np.ndarray]) -> str:
    name, same = next((name, same) for name, same in suspects.items() if not same.all())
    place = tuple(int(axis) for axis in np.argwhere(~same)[0])
    got, wanted = found[name][place], parts.outputs[name][place]
    return f"{name}{list(place)}: {got!r} instead of {wanted!r} ({np.count_nonzero(~same)} of {same.size})"


def _recomputed(parts: Parts, seed: int, authority: str) -> dict[str, np.ndarray]:
    """All values of the model, with noise in its intermediate floats unless the seed is 0."""
    rng = np.random.default_rng([seed, 7])
    values = {**parts.inputs, **parts.constants}
    for node, opset in zip(parts.nodes, parts.opsets):
        arrays = [values.get(name) for name in node.input]
        results = evaluate(node, arrays, opset, by=authority) or evaluate(node, arrays, opset)
        if results is None:
            break
        for name, array in zip(filter(None, node.output), results):
            noise = _NOISE.get(array.dtype.name)
            largest = np.abs(arrays[0]).max(initial=0.0) if node.op_type in _CANCELS else 0.0
            values[name] = _disturbed(array, noise, rng, seed, float(largest)) if noise and seed else array
    return values


def _disturbed(
    array: np.ndarray, noises: tuple[float, ...], rng: np.random.Generator, seed: int, least: float = 0.0
) -> np.ndarray:
    """``array`` with noise, a common part, upwards or downwards, and one of each element, relative to the element,
    or to ``least`` where that is larger.

    An odd seed: elements may be what is left of larger ones. The noise is then relative to the largest, but may be far
    smaller, and what is as small as the noise is 0 half of the time.
    """
    noise, upwards = float(rng.choice(noises)), 1 if seed % 4 < 2 else -1
    if seed % 2:
        least = max(least, float(np.abs(array[np.isfinite(array)]).max(initial=0.0)))
        noise *= 10.0 ** rng.uniform(-3, 0)
    amount = noise * (upwards * rng.uniform(0, 1) + rng.uniform(-1, 1, array.shape))
    with np.errstate(all="ignore"):
        changed = (array + amount * np.maximum(np.abs(array), least)).astype(array.dtype)
        lost = (np.abs(array) < noise * least) & (rng.random(array.shape) < 0.5)
        return np.where(lost, array.dtype.type(0), changed)
