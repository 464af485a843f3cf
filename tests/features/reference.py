"""Audio features in float64, from their definitions."""

from __future__ import annotations

import numpy as np
from ccml.features import AudioFeatures


def reference(audio: AudioFeatures, pcm: np.ndarray) -> np.ndarray:
    """[frames, columns] of int16 samples; ``mel.py``'s filters, which have tests of their own."""
    x, rules = pcm / 32768, audio.rules
    window = np.asarray(audio.taper)
    if audio.centered:
        before = (audio.length - audio.frame) // 2
        window = np.pad(window, (before, audio.length - audio.frame - before))
        x = np.pad(x, audio.length // 2)
    starts = np.arange(audio.count) * audio.hop
    frames = np.stack([x[start : start + len(window)] * window for start in starts])
    magnitude = np.abs(np.fft.rfft(frames, audio.length)) ** audio.exponent
    if audio.kind == "spectrogram":
        return magnitude
    mel = magnitude @ audio.filters
    if not rules.decibels:
        log_mel = np.log(mel + rules.floor)
    else:
        log_mel = 10 * np.log10(np.maximum(mel, rules.floor))
        if rules.range_db is not None and not audio.streaming and not audio.fixed_point:
            log_mel = np.maximum(log_mel, log_mel.max() - rules.range_db)
    return log_mel if audio.kind == "log-mel" else log_mel @ audio.cosines
