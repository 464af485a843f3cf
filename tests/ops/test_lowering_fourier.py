"""Nests of fft and block_fft against their meaning, and the meaning of block_fft against the transform of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ops.fourier import ONE, evaluate_block_fft, fixed_roots, root_count, roots

from tests.ops.nest_harness import check_nest, normal


def table(n: int, dtype: type) -> np.ndarray:
    return roots(n, root_count(n)).astype(dtype)


@pytest.mark.parametrize("n", [8, 16, 32, 512, 4096])
def test_fft(n: int) -> None:
    for parts, count in ((1, n // 2 + 1), (1, 3), (2, n)):
        check_nest("fft", normal(2, n, parts), table(n, np.float32), count=count, rtol=0, atol=1e-6 * n)
        x = normal(1, n, parts, dtype=np.float64)
        check_nest("fft", x, table(n, np.float64), count=count, rtol=0, atol=1e-14 * n)


def signals(frame: int) -> np.ndarray:
    """Noise of all loudnesses, tones, and what is extreme."""
    rng, t = np.random.default_rng(frame), np.arange(frame)
    noise = [rng.standard_normal(frame) * 10.0**p for p in range(-1, 5)]
    tones = [32767 * np.sin(t * 0.3), 100 * np.cos(t * 1.1), np.where(t % 2, -32768, 32767), np.full(frame, -32768)]
    steps = [np.zeros(frame), np.full(frame, -1), np.where(t == 0, 1, 0), np.where(t < frame // 2, -32768, 32767)]
    return np.clip(np.rint(np.stack([*noise, *tones, *steps])), -32768, 32767).astype(np.int16)


def hann(frame: int) -> np.ndarray:
    turn = np.cos(2 * np.pi * np.arange(frame) / frame)
    return np.clip(np.rint(ONE * (0.5 - 0.5 * turn)), 0, ONE - 1).astype(np.int16)


@pytest.mark.parametrize(("frame", "n"), [(8, 8), (5, 16), (31, 32), (63, 64), (480, 512), (1024, 1024), (4000, 4096)])
def test_block_fft(frame: int, n: int) -> None:
    for window in (hann(frame), np.full(frame, ONE - 1, np.int16), np.full(frame, 1 - ONE, np.int16)):
        for count in (n // 2 + 1, n // 4 + 1, 1):
            check_nest("block_fft", signals(frame), window, fixed_roots(n), n=n, count=count)


@pytest.mark.parametrize(("frame", "n"), [(8, 8), (480, 512), (512, 512), (4000, 4096)])
def test_error_of_block_fft(frame: int, n: int) -> None:
    """In units of the spectrum's integers, of which the greatest has at least 11 bits unless there is silence.

    Halves are rounded upwards, which adds up in the first elements.
    """
    x, window = signals(frame), hann(frame)
    spectrum, exponent = evaluate_block_fft([x, window, fixed_roots(n)], {"n": n, "count": n // 2 + 1})
    exact = np.fft.rfft(x * (window / ONE), n) / 2.0 ** exponent[:, None]
    error = np.abs((spectrum[..., 0] + 1j * spectrum[..., 1]) - exact)
    assert np.sqrt((error**2).mean(axis=1)).max() < 1.5
    assert error[:, 3:].max() < 6
    assert error[:, :3].max() < 4 + n / 128
    loud = np.abs(exact).max(axis=1) > 1
    assert (np.abs(spectrum).max(axis=(1, 2))[loud] >= 1 << 11).all()
