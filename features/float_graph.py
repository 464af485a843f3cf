"""Audio features in float32."""

from __future__ import annotations

import numpy as np

from .audio import FULL_SCALE, AudioFeatures
from .frames import framed
from .graph import FeatureGraph, FeatureWriter, Tensor

FEATURES = "features"


def float_features(audio: AudioFeatures) -> FeatureGraph:
    """``pcm`` int16 to ``features`` float32 [frames, columns]; spectrograms are magnitudes to the power of
    :attr:`~ccml.features.audio.AudioFeatures.exponent`."""
    graph, frames = framed(audio)
    writer = graph.writer
    writer.stage = "window"
    samples = writer.cast(frames, np.float32)
    if audio.frame < audio.length:
        samples = writer.emit("Pad", samples, writer.integers(0, 0, 0, audio.length - audio.frame))
    taper = np.pad(audio.taper / FULL_SCALE, (0, audio.length - audio.frame))
    tapered = writer.emit("Mul", samples, _constant(writer, taper))
    writer.stage = "fft"
    signal = writer.reshape(tapered, audio.count, audio.length, 1)
    spectrum = writer.emit("DFT", signal, onesided=1, axis=1)
    writer.stage = "magnitude"
    first, behind = audio.bins
    if (first, behind) != (0, audio.length // 2 + 1):
        spectrum = writer.slice(spectrum, 1, first, behind)
    parts = [writer.emit("Squeeze", writer.slice(spectrum, 2, p, p + 1), writer.integers(2)) for p in range(2)]
    value = writer.emit("Add", *(writer.emit("Mul", part, part) for part in parts))
    if audio.exponent == 1:
        value = writer.emit("Sqrt", value)
    if audio.kind != "spectrogram":
        value = _log_mel(audio, writer, value)
    if audio.kind == "mfcc":
        writer.stage = "cosine_transform"
        value = writer.emit("MatMul", value, _constant(writer, audio.cosines))
    writer.renamed(value, FEATURES)
    graph.outputs.insert(0, Tensor(FEATURES, np.float32, (audio.count, audio.columns)))
    return graph


def _constant(writer: FeatureWriter, array: np.ndarray | float) -> str:
    return writer.constant(np.asarray(array, np.float32))


def _log_mel(audio: AudioFeatures, writer: FeatureWriter, value: str) -> str:
    rules, (first, behind) = audio.rules, audio.bins
    writer.stage = "mel"
    value = writer.emit("MatMul", value, _constant(writer, audio.filters[first:behind]))
    writer.stage = "log"
    floor = _constant(writer, rules.floor)
    if not rules.decibels:
        return writer.emit("Log", writer.emit("Add", value, floor))
    value = writer.emit("Mul", writer.emit("Log", writer.emit("Max", value, floor)), _constant(writer, 10 / np.log(10)))
    if rules.range_db is None or audio.streaming:
        return value
    loudest = writer.emit("ReduceMax", value, keepdims=1)
    return writer.emit("Max", value, writer.emit("Sub", loudest, _constant(writer, rules.range_db)))
