"""DFT, STFT and MelWeightMatrix, compiled, against NumPy's transforms in float64 and onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.frontend_onnx import import_model

from tests.frontend_onnx.compiled import check_compiled, check_node, compiled, onnxruntime
from tests.frontend_onnx.graphs import one_node


def floats(*shape: int, seed: int = 0, dtype: type[Any] = np.float32) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def parts(x: np.ndarray) -> np.ndarray:
    return np.stack([x.real, x.imag], -1)


def numbers(x: np.ndarray) -> np.ndarray:
    return x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)


def dft(x: np.ndarray, **attrs: Any) -> np.ndarray:
    """Along the last axis but one."""
    proto, feeds = one_node("DFT", [x], 20, **attrs)
    return compiled(proto, feeds)[0]


LENGTHS = [1, 2, 3, 8, 37, 60, 97, 128, 400, 1024]


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int) -> None:
    """Primes, powers of two and others; errors in relation to the size of the whole spectrum."""
    x = floats(2, n, 2)
    for array in (x, x[..., :1].copy()):
        exact = np.fft.fft(numbers(array), axis=-1)
        scale = 2e-6 * np.abs(exact).max()
        np.testing.assert_allclose(dft(array), parts(exact), rtol=0, atol=scale)
    half = dft(x[..., :1].copy(), onesided=1)
    np.testing.assert_allclose(half, parts(exact)[:, : n // 2 + 1], rtol=0, atol=scale)
    back = np.fft.ifft(numbers(x), axis=-1)
    np.testing.assert_allclose(dft(x, inverse=1), parts(back), rtol=0, atol=2e-6 * np.abs(back).max())


@pytest.mark.parametrize("n", [2, 5, 8, 600, 601])
def test_inverse_of_half_a_spectrum(n: int) -> None:
    """Imaginary parts of the elements that are their own partners do not matter."""
    x = floats(2, n // 2 + 1, 2)
    exact = np.fft.irfft(numbers(x), n, axis=-1)[..., None]
    proto, feeds = one_node("DFT", [x, np.array(n)], 20, [1], inverse=1, onesided=1)
    np.testing.assert_allclose(compiled(proto, feeds)[0], exact, rtol=0, atol=2e-6 * np.abs(exact).max())


def test_double_precision() -> None:
    x = floats(1, 360, 2, dtype=np.float64)
    np.testing.assert_allclose(dft(x), parts(np.fft.fft(numbers(x))), rtol=0, atol=1e-12)


def test_half_floats_are_computed_in_float32() -> None:
    x = floats(1, 64, 1, dtype=np.float16)
    exact = parts(np.fft.fft(numbers(x)))
    result = dft(x)
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("axis", [0, 1, -2, -3])
@pytest.mark.parametrize("opset", [17, 20])
def test_axes_and_lengths(axis: int, opset: int) -> None:
    """Shorter and longer than the operand: cut off, or continued by zeros."""
    x = floats(3, 5, 4, 2)
    for length in (3, 7):
        operands = [x, np.array(length)] + ([np.array(axis)] if opset == 20 else [])
        frozen = range(1, len(operands))
        attrs = {"axis": axis} if opset == 17 else {}
        check_compiled(*one_node("DFT", operands, opset, frozen, **attrs), atol=1e-5)
        check_compiled(*one_node("DFT", operands, opset, frozen, inverse=1, **attrs), atol=1e-5)


def test_between_other_operators() -> None:
    check_node("DFT", [floats(1, 12, 10, 1), None, np.array(1)], 20, [2], onesided=1, atol=1e-4)


def test_constants_of_a_smooth_length_are_small() -> None:
    """Factors of 4096 instead of a matrix of 128 MB."""
    graph = import_model(one_node("DFT", [np.zeros((1, 4096, 2), np.float32)], 20)[0])
    assert sum(array.nbytes for array in graph.constants.values()) < 1 << 18


@pytest.mark.parametrize("length", [1 << 60, 16_777_213, 1 << 27])
def test_lengths_that_no_memory_holds_are_refused(length: int) -> None:
    """Soon: powers of two, primes and what is larger than any signal."""
    for attrs in ({}, {"inverse": 1, "onesided": 1}):
        proto, _ = one_node("DFT", [floats(1, 4, 2), np.array(length)], 20, [1], **attrs)
        with pytest.raises(CcmlError):
            import_model(proto)


@pytest.mark.parametrize(("length", "step"), [(16, 4), (10, 4), (7, 3), (8, 8), (6, 9), (97, 1)])
@pytest.mark.parametrize("onesided", [0, 1])
def test_stft(length: int, step: int, onesided: int) -> None:
    x, window = floats(2, 100, 1), np.hanning(length + 2)[1:-1].astype(np.float32)
    arrays = [x, np.array(step), window, np.array(length)]
    check_compiled(*one_node("STFT", arrays, 17, [1, 3], onesided=onesided), atol=2e-5)
    check_compiled(*one_node("STFT", arrays[:3], 17, [1, 2], onesided=onesided), atol=2e-5)


def test_stft_of_a_real_signal_without_a_dimension_of_parts() -> None:
    """As torch.stft is exported: by the definition, and as ONNX Runtime takes it."""
    x, window = floats(2, 40), np.hanning(10)[1:9].astype(np.float32)
    proto, feeds = one_node("STFT", [x, np.array(3), window, np.array(8)], 17, [1, 2, 3], onesided=1)
    frames = np.stack([x[:, start : start + 8] * window for start in range(0, 33, 3)], 1).astype(np.float64)
    np.testing.assert_allclose(compiled(proto, feeds)[0], parts(np.fft.rfft(frames)), atol=2e-5)
    check_compiled(proto, feeds, onnxruntime, atol=2e-5)


def test_stft_of_complex_signals_and_without_window() -> None:
    """By the definition: the reference needs a window."""
    x = floats(2, 40, 2)
    proto, feeds = one_node("STFT", [x, np.array(5), None, np.array(10)], 17, [1, 3], onesided=0)
    frames = np.stack([numbers(x)[:, start : start + 10] for start in range(0, 31, 5)], 1)
    np.testing.assert_allclose(compiled(proto, feeds)[0], parts(np.fft.fft(frames)), atol=2e-5)


@pytest.mark.parametrize(("bins", "length", "rate", "low", "high"), [(8, 16, 8192, 0, 4096), (40, 512, 16000, 9, 7e3)])
def test_mel_weight_matrix(bins: int, length: int, rate: int, low: float, high: float) -> None:
    """Of constants, and of a rate and edges that are computed at run time."""
    operands = [np.array(bins), np.array(length), np.array(rate), np.float32(low), np.float32(high)]
    check_compiled(*one_node("MelWeightMatrix", operands, 17, [0, 1], output_datatype=11), rtol=1e-9)
    check_compiled(*one_node("MelWeightMatrix", operands, 17, [0, 1]))
