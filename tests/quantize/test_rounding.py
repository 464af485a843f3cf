"""Scales of weights and ways of rounding them."""

import numpy as np
import pytest
from ccml.quantization import rounding
from ccml.quantization.encoding import weight_encoding
from ccml.quantization.rounding import (
    OrderedMoments,
    best_peaks,
    compensated,
    largest_peaks,
    nearest,
    output_error,
    peak_steps,
)
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = np.array([[0, 1]])


def test_the_largest_weight_becomes_127() -> None:
    matrices = np.array([[[1.0, -2.0], [0.5, 0.25]]])
    peaks = largest_peaks(matrices, NUMBERS)
    assert peaks.tolist() == [1.0, 2.0]
    stored = nearest(matrices, peak_steps(peaks)[NUMBERS]) / peak_steps(peaks)
    assert np.rint(stored).tolist() == [[[127, -127], [64, 16]]]


def test_columns_may_share_a_scale() -> None:
    matrices = np.array([[[1.0, -2.0]], [[3.0, 0.5]]])
    assert largest_peaks(matrices, np.array([[0, 1], [0, 1]])).tolist() == [3.0, 2.0]


def test_best_peaks_give_up_a_weight_that_hardly_matters() -> None:
    """The input of the large weight is nearly always 0."""
    rng = np.random.default_rng(0)
    matrices = rng.uniform(-1, 1, (1, 64, 1))
    matrices[0, 0] = 1.9
    importance = np.ones((1, 64))
    assert best_peaks(matrices, np.array([[0]]), importance)[0] == pytest.approx(1.9, rel=0.03)
    importance[0, 0] = 1e-6
    assert best_peaks(matrices, np.array([[0]]), importance)[0] < 1.2


def test_channels_of_zeros_have_a_scale() -> None:
    assert peak_steps(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("peak", [0.0, 1e-45, 1e-38, 1e-30, 0.3, 100.0])
def test_steps_are_the_scales_of_the_stored_weights(peak: float) -> None:
    assert peak_steps(np.array([peak])).tolist() == list(weight_encoding([peak], 0).scale)


def correlated(rng: np.random.Generator, size: int) -> np.ndarray:
    """Moments of inputs that are mixtures of few sources."""
    inputs = rng.standard_normal((400, 4)) @ rng.standard_normal((4, size)) + 0.1 * rng.standard_normal((400, size))
    return (inputs.T @ inputs / len(inputs))[np.newaxis]


@pytest.mark.parametrize("size", [9, 70, 150])
def test_compensated_rounding_lessens_the_output_error(size: int) -> None:
    rng = np.random.default_rng(size)
    matrices, moments = rng.standard_normal((1, size, 5)), correlated(rng, size)
    steps = peak_steps(largest_peaks(matrices, np.arange(5)[np.newaxis]))[np.newaxis]
    plain = output_error(nearest(matrices, steps) - matrices, moments)
    better = compensated(matrices, steps, OrderedMoments.of(moments), damping=0.01)
    assert output_error(better - matrices, moments) < 0.5 * plain
    multiples = better / steps
    assert np.allclose(multiples, np.rint(multiples))
    assert np.abs(multiples).max() <= 127.001


def test_moments_that_are_factored_in_blocks_serve_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks learn of each other's errors in the sweeps."""
    rng = np.random.default_rng(3)
    matrices, moments = rng.standard_normal((1, 150, 5)), correlated(rng, 150)
    steps = peak_steps(largest_peaks(matrices, np.arange(5)[np.newaxis]))[np.newaxis]
    plain = output_error(nearest(matrices, steps) - matrices, moments)
    whole = output_error(compensated(matrices, steps, OrderedMoments.of(moments), damping=0.01) - matrices, moments)
    monkeypatch.setattr(rounding, "_MOST_FACTORED", 64)
    blocks = output_error(compensated(matrices, steps, OrderedMoments.of(moments), damping=0.01) - matrices, moments)
    assert blocks != whole
    assert blocks < 0.5 * plain


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.floats(0.02, 2.0), st.sampled_from([0.003, 0.3, 3.0]))
@settings(max_examples=60, deadline=None)
def test_no_column_is_ever_worse_than_nearest(seed: int, size: int, step: float, damping: float) -> None:
    """On its objective: the moments with the damping on the diagonal."""
    rng = np.random.default_rng(seed)
    matrices, moments = rng.standard_normal((2, size, 4)), np.concatenate([correlated(rng, size) for _ in range(2)])
    steps = np.full((2, 4), step)
    damped = moments + damping * np.einsum("gkk->g", moments)[:, None, None] / size * np.eye(size)
    better = compensated(matrices, steps, OrderedMoments.of(moments), damping) - matrices
    plain = nearest(matrices, steps) - matrices
    for group in range(2):
        for column in range(4):
            objective = (apart[group, :, column] @ damped[group] @ apart[group, :, column] for apart in (better, plain))
            found, bound = objective
            assert found <= bound * (1 + 1e-4) + 1e-12


def test_independent_inputs_leave_nothing_to_compensate() -> None:
    rng = np.random.default_rng(1)
    matrices = rng.standard_normal((3, 8, 2))
    steps = peak_steps(largest_peaks(matrices, np.arange(6).reshape(3, 2)))[np.arange(6).reshape(3, 2)]
    moments = OrderedMoments.of(np.stack([np.diag(rng.uniform(0.1, 2, 8)) for _ in range(3)]))
    assert np.array_equal(compensated(matrices, steps, moments, damping=0.01), nearest(matrices, steps))


def test_two_equal_inputs_share_the_error() -> None:
    """x1 = x2: only the sum of the weights counts, and 0.4 + 0.4 steps are nearer to 1 than to 0."""
    matrices = np.array([[[0.4], [0.4]]])
    moments = np.ones((1, 2, 2))
    assert nearest(matrices, np.ones((1, 1))).sum() == 0.0
    assert compensated(matrices, np.ones((1, 1)), OrderedMoments.of(moments), damping=0.01).sum() == 1.0
