"""The meaning of com.example::Median, by which `ccml verify` judges median.c."""

import numpy as np


def median(x: np.ndarray, window: int) -> np.ndarray:
    """Medians of windows along the last axis, with repeated borders."""
    half = window // 2
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(half, half)], mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, window, axis=-1)
    return np.sort(windows, axis=-1)[..., half]
