"""Mel filters, windows and the cosine transform in float64, each by the definition of the library whose models use it.

Sources: ``linear_to_mel_weight_matrix``, ``mfccs_from_log_mel_spectrograms`` and ``hann_window`` of ``tf.signal``
(TensorFlow); ``filters.mel``, ``feature.mfcc`` and ``power_to_db`` of librosa. The scale of HTK is
2595 log10(1 + f / 700) (Young et al., The HTK Book); that of Slaney's Auditory Toolbox is linear below 1 kHz,
logarithmic above.
"""

from __future__ import annotations

import numpy as np

_SLANEY_STEP = 200 / 3
_SLANEY_BREAK = 1000.0
_SLANEY_LOG = np.log(6.4) / 27


def to_mel(hertz: np.ndarray, scale: str) -> np.ndarray:
    """Hertz to mel on the scale ``htk`` or ``slaney``."""
    hertz = np.asarray(hertz, np.float64)
    if scale == "htk":
        return 2595 * np.log10(1 + hertz / 700)
    above = np.log(np.maximum(hertz, _SLANEY_BREAK) / _SLANEY_BREAK) / _SLANEY_LOG
    return np.minimum(hertz, _SLANEY_BREAK) / _SLANEY_STEP + above


def to_hertz(mel: np.ndarray, scale: str) -> np.ndarray:
    """The inverse of :func:`to_mel`."""
    mel = np.asarray(mel, np.float64)
    if scale == "htk":
        return 700 * (10 ** (mel / 2595) - 1)
    knee = _SLANEY_BREAK / _SLANEY_STEP
    return np.minimum(mel, knee) * _SLANEY_STEP * np.exp(_SLANEY_LOG * np.maximum(mel - knee, 0))


def mel_filters(
    mels: int, fft: int, rate: int, lower: float, upper: float, *, scale: str, on_mel_axis: bool, area: bool
) -> np.ndarray:
    """Triangles [fft // 2 + 1, mels] whose corners are equally far apart in mel.

    ``on_mel_axis``: the sides are straight over mel (TensorFlow, which also leaves out the bin of 0 Hz), else over
    hertz (librosa). ``area``: each is scaled to 2 / its width in hertz (librosa's ``norm="slaney"``).
    """
    hertz = np.arange(fft // 2 + 1) * (rate / fft)
    corners = np.linspace(to_mel(np.array(lower), scale), to_mel(np.array(upper), scale), mels + 2)
    edges = to_hertz(corners, scale)
    at, on = (to_mel(hertz, scale), corners) if on_mel_axis else (hertz, edges)
    rising = (at[:, None] - on[:-2]) / (on[1:-1] - on[:-2])
    falling = (on[2:] - at[:, None]) / (on[2:] - on[1:-1])
    weights = np.maximum(np.minimum(rising, falling), 0)
    if on_mel_axis:
        weights[0] = 0
    return weights * (2 / (edges[2:] - edges[:-2])) if area else weights


WINDOWS = ("hann", "hamming", "rectangular")


def window(name: str, length: int) -> np.ndarray:
    """A periodic window, as both libraries have it."""
    turn = np.cos(2 * np.pi * np.arange(length) / length)
    if name == "hann":
        return 0.5 - 0.5 * turn
    return 0.54 - 0.46 * turn if name == "hamming" else np.ones(length)


def cosine_transform(mels: int, coefficients: int, *, orthonormal: bool) -> np.ndarray:
    """DCT-II [mels, coefficients] times sqrt(2 / mels); ``orthonormal``: the first column over sqrt(2) (librosa)."""
    k = np.arange(coefficients)
    table = np.sqrt(2 / mels) * np.cos(np.pi / mels * np.outer(np.arange(mels) + 0.5, k))
    return table * np.where(k == 0, np.sqrt(0.5), 1) if orthonormal else table
