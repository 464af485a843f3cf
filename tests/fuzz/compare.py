"""Whether results of compiled code are those of the model.

Two computations in floats differ by rounding, and where a comparison, a rounding or a choice of the largest follows,
by anything. So a result that is not close to the expected one is compared again, element by element, with those of
several computations whose intermediate floats were changed by about what rounding may change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from tests.fuzz.build import FLOATS, Parts
from tests.fuzz.oracle import evaluate

_TOLERANCE = {"float16": 6e-3, "float32": 1e-4, "float64": 2e-6}
"""Of the largest element. Functions of float64 are made of such of float32 on no target; float16 has 11 bits."""

_NOISE = {"float16": 1e-3, "float32": 2e-6, "float64": 1e-9}
_TRIES = 16


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
    suspects = {}
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
        for seed in range(_TRIES):
            values = _recomputed(parts, seed, authority)
            for name, same in suspects.items():
                other = values.get(name)
                if other is not None and other.shape == same.shape and other.dtype == found[name].dtype:
                    same |= close(found[name], other, parts.steps)
            if all(same.all() for same in suspects.values()):
                return ("disputed", text) if authority == "reference" else None
    return "wrong", _difference(parts, found, suspects)


def _difference(parts: Parts, found: Mapping[str, np.ndarray], suspects: Mapping[str, np.ndarray]) -> str:
    name, same = next((name, same) for name, same in suspects.items() if not same.all())
    place = tuple(int(axis) for axis in np.argwhere(~same)[0])
    got, wanted = found[name][place], parts.outputs[name][place]
    return f"{name}{list(place)}: {got!r} instead of {wanted!r} ({np.count_nonzero(~same)} of {same.size})"


def _recomputed(parts: Parts, seed: int, authority: str) -> dict[str, np.ndarray]:
    """All values of the model, with noise in its intermediate floats unless the seed is 0."""
    rng = np.random.default_rng(seed)
    values = {**parts.inputs, **parts.constants}
    for node, opset in zip(parts.nodes, parts.opsets):
        arrays = [values.get(name) for name in node.input]
        results = evaluate(node, arrays, opset, by=authority) or evaluate(node, arrays, opset)
        if results is None:
            break
        for name, array in zip(filter(None, node.output), results):
            noise = _NOISE.get(array.dtype.name)
            if noise and seed:
                amount = rng.uniform(-2, 2) + rng.uniform(-1, 1, array.shape)
                finite = np.abs(array[np.isfinite(array)])
                least = float(finite.max(initial=0.0)) if seed % 2 else 0.0  # what cancels is no multiple of itself
                with np.errstate(all="ignore"):
                    array = (array + noise * amount * np.maximum(np.abs(array), least)).astype(array.dtype)
            values[name] = array
    return values
