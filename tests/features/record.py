"""Writes ``data/recorded.npz``: features of half a second of PCM by TensorFlow 2.21 and librosa 0.11 themselves.

    python tests/features/record.py tensorflow      (where that package is installed)
    python tests/features/record.py librosa

Each adds its arrays to the file; tests compare with them, and need neither package.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent / "data" / "recorded.npz"
RATE, FRAME, HOP, FFT, MELS, COEFFICIENTS, LOWER, UPPER = 16000, 480, 320, 512, 40, 10, 20.0, 4000.0


def pcm() -> np.ndarray:
    """Voice-like: a falling pitch with its overtones, in bursts, and noise."""
    t = np.arange(8000) / RATE
    pitch = 2 * np.pi * (180 * t - 60 * t * t)
    voice = sum(np.sin(k * pitch) / k for k in range(1, 25))
    noise = np.random.default_rng(1).standard_normal(len(t))
    return np.clip(np.rint(5000 * np.exp(-(t % 0.2) / 0.06) * voice + 60 * noise), -32768, 32767).astype(np.int16)


def of_tensorflow(samples: np.ndarray) -> dict[str, np.ndarray]:
    """The recipe of ``tf.signal.mfccs_from_log_mel_spectrograms``."""
    import tensorflow as tf

    spectrum = tf.abs(tf.signal.stft(samples / np.float32(32768), FRAME, HOP, FFT))
    weights = tf.signal.linear_to_mel_weight_matrix(MELS, FFT // 2 + 1, RATE, LOWER, UPPER)
    log_mel = tf.math.log(tf.tensordot(spectrum, weights, 1) + 1e-6)
    mfcc = tf.signal.mfccs_from_log_mel_spectrograms(log_mel)[..., :COEFFICIENTS]
    found = {"log_mel": log_mel, "mfcc": mfcc, "filters": weights}
    return {f"tensorflow_{name}": tensor.numpy() for name, tensor in found.items()}


def of_librosa(samples: np.ndarray) -> dict[str, np.ndarray]:
    import librosa

    options = {"n_fft": FFT, "win_length": FRAME, "hop_length": HOP, "n_mels": MELS, "fmin": LOWER, "fmax": UPPER}
    y = samples / np.float32(32768)
    log_mel = librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=RATE, **options))
    mfcc = librosa.feature.mfcc(y=y, sr=RATE, n_mfcc=COEFFICIENTS, **options)
    filters = librosa.filters.mel(sr=RATE, n_fft=FFT, n_mels=MELS, fmin=LOWER, fmax=UPPER)
    return {"librosa_log_mel": log_mel.T, "librosa_mfcc": mfcc.T, "librosa_filters": filters.T}


if __name__ == "__main__":
    arrays = dict(np.load(FILE)) if FILE.exists() else {"pcm": pcm()}
    made = {"tensorflow": of_tensorflow, "librosa": of_librosa}[sys.argv[1]](arrays["pcm"])
    np.savez_compressed(FILE, **arrays, **{name: array.astype(np.float32) for name, array in made.items()})
