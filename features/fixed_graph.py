"""Audio features in integers: every machine, and any runtime of ONNX, computes the same bits.

With a spectrum X 2^e in units of samples times 2^15 (``block_fft``), p the power of the magnitudes and W integer
filters of f fractional bits, the sum s = W |X|^p is the mel spectrum times 2^(f + 15 p - e p). Its logarithm is::

    log2(mel) = log2(s + floor 2^(f + 15 p - e p)) + e p - f - 15 p

so that the floor is shifted to what s is in, and the exponent comes in again as an addition. log2 of an integer is the
place of its leading one and a polynomial of what follows. The factor from log2 to natural logarithms or decibels is
part of the cosine transform, or of the scale of the result.
"""

from __future__ import annotations

from math import floor, log, log2, log10

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..frontend_onnx.block_fourier import block_fft_function
from ..frontend_onnx.feature_function import DOMAIN
from ..frontend_onnx.integer_root import integer_root_function
from ..ops.fourier import ONE
from .audio import AudioFeatures
from .float_graph import FEATURES
from .frames import framed
from .graph import FeatureGraph, FeatureWriter, Tensor

EXPONENT = "exponent"
_LOUDEST = 23200
"""What a magnitude of ``block_fft`` is at most: 2^14.5, and the rounding."""
_QUIETEST = 15
"""A frame is shifted left by so many bits at most."""
_LOG2 = (1.442693, 0.721163, 0.477706, 0.339248, 0.215589, 0.096066, 0.020490)
"""log2(1 + x) / x = c0 - x (c1 - x (c2 - ...)) for 0 <= x <= 1, by least squares at Chebyshev points; error 1e-6."""
_FRACTION = 15


def fixed_features(audio: AudioFeatures) -> FeatureGraph:
    """``pcm`` int16 to ``features`` int16 [frames, columns]; these times the graph's ``scale`` are the features.

    Of a spectrogram they are magnitudes, int16 for p = 1 and uint32 for p = 2, and ``exponent`` int32 [frames]: times
    2^(exponent p).
    """
    graph, frames = framed(audio)
    writer = graph.writer
    first, behind = audio.bins
    function = block_fft_function(audio.frame, audio.length, behind)
    graph.functions.append(function)
    writer.stage = "fft"
    taper = np.clip(np.rint(audio.taper * ONE), 0, ONE - 1).astype(np.int16)
    spectrum, exponent = writer.emit_all(function.name, [frames, writer.constant(taper)], 2, domain=DOMAIN)
    writer.stage = "magnitude"
    if first:
        spectrum = writer.slice(spectrum, 1, first, behind)
    value = _power(writer, spectrum)
    if audio.exponent == 1:
        root = integer_root_function()
        graph.functions.append(root)
        value = writer.emit(root.name, value, domain=DOMAIN)
    if audio.kind == "spectrogram":
        return _spectrogram(audio, graph, value, exponent)
    value, bits = _log_mel(audio, writer, value, exponent)
    unit = 10 * log10(2) if audio.rules.decibels else log(2)
    if audio.kind == "mfcc":
        value, graph.scale = _cosines(audio, writer, value, bits, unit)
    else:
        graph.scale = unit / (1 << bits)
    writer.renamed(writer.cast(value, np.int16), FEATURES)
    note = f"times {graph.scale:.9g}"
    graph.outputs.insert(0, Tensor(FEATURES, np.int16, (audio.count, audio.columns), note))
    return graph


def _constant(writer: FeatureWriter, value: np.ndarray | int, dtype: type) -> str:
    return writer.constant(np.asarray(value, dtype))


def _spectrogram(audio: AudioFeatures, graph: FeatureGraph, value: str, exponent: str) -> FeatureGraph:
    writer = graph.writer
    dtype = np.int16 if audio.exponent == 1 else np.uint32
    writer.renamed(writer.cast(value, dtype) if audio.exponent == 1 else value, FEATURES)
    writer.renamed(exponent, EXPONENT)
    power = EXPONENT if audio.exponent == 1 else f"2 {EXPONENT}"
    graph.outputs[:0] = [
        Tensor(FEATURES, dtype, (audio.count, audio.columns), f"times 2^({power}) in units of samples"),
        Tensor(EXPONENT, np.int32, (audio.count,)),
    ]
    return graph


# ---------------------------------------------------------------- magnitudes


def _power(writer: FeatureWriter, spectrum: str) -> str:
    """re^2 + im^2, uint32 below 2^30."""
    halves = (writer.emit("Squeeze", writer.slice(spectrum, 2, p, p + 1), writer.integers(2)) for p in range(2))
    parts = [writer.cast(half, np.int32) for half in halves]
    return writer.cast(writer.emit("Add", *(writer.emit("Mul", part, part) for part in parts)), np.uint32)


# ---------------------------------------------------------------- filters and logarithm


def _log_mel(audio: AudioFeatures, writer: FeatureWriter, value: str, exponent: str) -> tuple[str, int]:
    """log2 of the mel spectrum, int32 with the fractional bits that are the second result."""
    rules, (first, behind), p = audio.rules, audio.bins, audio.exponent
    wide = np.uint32 if p == 1 else np.uint64
    filters = audio.filters[first:behind]
    room = log2((1 << (30 if p == 1 else 61)) / (_LOUDEST**p * filters.sum(axis=0).max()))
    fraction = min(floor(room), _QUIETEST - floor(log2(filters.max())))
    writer.stage = "mel"
    weights = np.rint(filters * 2.0**fraction).astype(wide)
    value = writer.emit("MatMul", value if p == 1 else writer.cast(value, wide), writer.constant(weights))
    writer.stage = "log"
    shift = fraction + p * 15
    least = round(rules.floor * 2.0 ** (shift + p * _QUIETEST))
    if not 1 <= least < (1 << (30 if p == 1 else 62)):
        reason = f"filters of up to {filters.max():g} leave no room for a floor of {rules.floor:g}"
        hint = "compute in floats, without --fixed-point"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc="--fixed-point", hint=hint)
    times = _constant(writer, p, np.int32)
    steps = writer.emit("Mul", writer.emit("Add", exponent, _constant(writer, _QUIETEST, np.int32)), times)
    quiet = writer.emit(
        "BitShift", _constant(writer, least, wide), writer.reshape(writer.cast(steps, wide), -1, 1), direction="RIGHT"
    )
    value = writer.emit("Max" if rules.decibels else "Add", value, quiet)
    value = writer.emit("Max", value, _constant(writer, 1, wide))
    logarithm = _log2(writer, value, wide)
    whole = writer.emit("Sub", writer.emit("Mul", exponent, times), _constant(writer, shift, np.int32))
    whole = writer.reshape(writer.emit("Mul", whole, _constant(writer, 1 << _FRACTION, np.int32)), -1, 1)
    bits = 10 if p == 1 else 9
    return _rounded(writer, writer.emit("Add", logarithm, whole), _FRACTION - bits, 1 << 26), bits


def _log2(writer: FeatureWriter, value: str, wide: type) -> str:
    """log2 of positive integers, int32 with 15 fractional bits."""
    size = np.dtype(wide).itemsize * 8
    places = _constant(writer, size - 1, np.int32)
    half = size // 2
    while half:
        small = writer.emit("Less", value, _constant(writer, 1 << (size - half), wide))
        one = writer.cast(small, np.int32)
        # A choice between numbers of 64 bits, which runtimes do not have, is a shift by half or by nothing.
        steps = writer.emit("Mul", one, _constant(writer, half, np.int32))
        value = writer.emit("BitShift", value, writer.cast(steps, wide), direction="LEFT")
        places = writer.emit("Sub", places, steps)
        half //= 2
    top = writer.emit("BitShift", value, _constant(writer, size - 1 - _FRACTION, wide), direction="RIGHT")
    rest = writer.emit("Sub", writer.cast(top, np.int32), _constant(writer, 1 << _FRACTION, np.int32))
    total = ""
    for factor in reversed(_LOG2):
        bound = _constant(writer, round(factor * (1 << _FRACTION)), np.int32)
        total = writer.emit("Sub", bound, _times(writer, rest, total)) if total else bound
    whole = writer.emit("Mul", places, _constant(writer, 1 << _FRACTION, np.int32))
    return writer.emit("Add", whole, _times(writer, rest, total))


def _times(writer: FeatureWriter, x: str, y: str) -> str:
    """The product of positive numbers with 15 fractional bits."""
    product = writer.cast(writer.emit("Mul", x, y), np.uint32)
    shifted = writer.emit("BitShift", product, _constant(writer, _FRACTION, np.uint32), direction="RIGHT")
    return writer.cast(shifted, np.int32)


def _rounded(writer: FeatureWriter, x: str, shift: int, bias: int) -> str:
    """x / 2^shift, halves upwards, of int32 from -bias on; ``bias`` is a multiple of 2^shift."""
    positive = writer.emit("Add", x, _constant(writer, bias + (1 << shift >> 1), np.int32))
    moved = writer.emit(
        "BitShift", writer.cast(positive, np.uint32), _constant(writer, shift, np.uint32), direction="RIGHT"
    )
    return writer.emit("Sub", writer.cast(moved, np.int32), _constant(writer, bias >> shift, np.int32))


# ---------------------------------------------------------------- cosine transform


def _cosines(audio: AudioFeatures, writer: FeatureWriter, value: str, bits: int, unit: float) -> tuple[str, float]:
    """The cosine transform, int32 that fits int16, and the scale of that."""
    writer.stage = "cosine_transform"
    table = audio.cosines * unit
    reach = float(np.abs(table).sum(axis=0).max()) * _largest_log(audio)
    factor = floor(log2((1 << 30) / ((reach + 0.5) * (1 << bits))))
    # Sums over a column are rounded, not its elements, so that what all logarithms have in common stays exact.
    weights = np.diff(np.rint(np.cumsum(table * 2.0**factor, axis=0)), axis=0, prepend=0).astype(np.int32)
    total = writer.emit("MatMul", value, writer.constant(weights))
    kept = floor(log2(32767 / reach))
    return _rounded(writer, total, bits + factor - kept, 1 << 30), 2.0**-kept


def _largest_log(audio: AudioFeatures) -> float:
    """The greatest magnitude of log2 of a mel spectrum of samples within -1..1."""
    loudest = (audio.taper.sum() * audio.filters.sum(axis=0).max() ** (1 / audio.exponent)) ** audio.exponent
    return max(abs(log2(audio.rules.floor)), log2(max(loudest, 1.0))) + 1
