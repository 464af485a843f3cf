"""Each range method on data whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.histogram import TensorStats
from ccml.quantization.options import RangeMethod
from ccml.quantization.quantize import sqnr
from ccml.quantization.ranges import find_range, mse_ranges

from tests.quantize.networks import Network, samples_for


def observed(*samples: object) -> TensorStats:
    stats = TensorStats()
    for sample in samples:
        stats.add(np.asarray([sample], np.float32))
    return stats


def found(method: RangeMethod, *samples: object, percentile: float = 99.0, levels: int = 256) -> tuple[float, float]:
    return find_range(observed(*samples), method, percentile, levels)


def test_min_max_takes_everything() -> None:
    assert found(RangeMethod.MIN_MAX, [-1.0, 3.0], [-5.0, 2.0]) == (-5.0, 3.0)


@pytest.mark.parametrize("method", list(RangeMethod))
def test_zero_is_inside(method: RangeMethod) -> None:
    low, high = found(method, np.linspace(2, 3, 1000))
    assert low == 0.0
    assert 1.0 < high <= 5.0
    assert found(method, np.zeros(9)) == (0.0, 0.0)


def test_moving_average_of_the_extremes_of_samples() -> None:
    assert found(RangeMethod.MOVING_AVERAGE, [0.0, 1.0], [-1.0, 2.0]) == pytest.approx((-0.1, 1.1))


def test_percentile_leaves_out_the_same_share_on_either_side() -> None:
    """Of 0..100 in steps of 1/100 one percent lies above 99; nothing lies below 0."""
    low, high = found(RangeMethod.PERCENTILE, np.arange(10001) / 100, percentile=99.0)
    assert low == 0.0
    assert high == pytest.approx(99.0, abs=0.05)
    low, high = found(RangeMethod.PERCENTILE, np.arange(-10000, 10001) / 100, percentile=95.0)
    assert (low, high) == pytest.approx((-90.0, 90.0), abs=0.1)


def test_percentile_100_is_min_max() -> None:
    assert found(RangeMethod.PERCENTILE, [-1.0, 3.0], [-5.0, 2.0], percentile=100.0) == (-5.0, 3.0)


def test_mse_keeps_values_that_are_spread_evenly() -> None:
    """Saturating anything costs more than smaller steps win."""
    samples = [np.linspace(-1, 1, 2001)] * 8
    assert found(RangeMethod.MSE, *samples) == pytest.approx((-1.0, 1.0), abs=0.06)


def test_mse_lets_a_rare_outlier_saturate() -> None:
    """N values of 1 and one of 4: n (h / 255)^2 / 12 + 4 (4 - h)^2 is least where h = 16 / (4 + n / (12 * 255^2))."""
    for count in (1000, 250_000):
        low, high = found(RangeMethod.MSE, np.append(np.ones(count), 4.0))
        assert low == 0.0
        assert high == pytest.approx(16 / (4 + count / (12 * 255**2)), abs=0.1)


def test_mse_has_a_margin_where_samples_differ() -> None:
    """Each sample is wider than the ones before; the next one may be wider still."""
    alike = [np.linspace(0, 1, 500)] * 8
    growing = [np.linspace(0, 1 + 0.15 * number, 500) for number in range(8)]
    assert found(RangeMethod.MSE, *growing)[1] > growing[-1][-1]
    assert found(RangeMethod.MSE, *alike)[1] <= 1.0


def test_mse_keeps_samples_that_are_larger_than_the_others() -> None:
    """Two samples of eight, of one fold, are four times as large. By samples that a range was not made from the other
    three folds count three times, which want 1; by those that it was made from what 4 loses in the others, a step of
    4 / 255 for one of 1 / 255, is nothing beside values that are off by 3."""
    small, large = np.linspace(-1, 1, 501), np.linspace(-4, 4, 501)
    stats = observed(*[large if number % 4 == 0 else small for number in range(8)])
    (held_out,), (seen,) = (mse_ranges(stats, [trust], 256) for trust in (0.0, 100.0))
    assert held_out == pytest.approx((-1.0, 1.0), abs=0.2)
    assert seen == pytest.approx((-4.0, 4.0), abs=0.2)
    assert mse_ranges(stats, [0.0, 100.0], 256) == [held_out, seen]
    assert find_range(stats, RangeMethod.MSE, 100.0)[1] > 2 * held_out[1]


def test_mse_of_a_single_sample_stays_within_it() -> None:
    assert found(RangeMethod.MSE, np.linspace(-1, 2, 999))[1] <= 2.0


def test_entropy_cuts_a_long_thin_tail_and_keeps_a_uniform_range() -> None:
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-1, 1, 50_000)
    assert found(RangeMethod.ENTROPY, uniform) == pytest.approx((-1.0, 1.0), rel=0.1)
    tailed = np.append(rng.normal(0, 1, 50_000), [40.0, -40.0])
    low, high = found(RangeMethod.ENTROPY, tailed)
    assert -20.0 < low < -2.0
    assert 2.0 < high < 20.0


def test_16_bits_reach_beyond_what_was_observed() -> None:
    """A bit of 16 is little. What saturates is wrong, and wrong in all layers that follow."""
    net = Network((1, 8))
    graph = net.graph(net.dense(net.relu(net.dense(net.x, 16)), 4))
    samples = samples_for(graph, 16)
    larger = replace(samples, inputs={"x": 1.9 * samples.inputs["x"]})
    quantized = quantize_graph(graph, samples, QuantizeOptions(activations="int16")).graph
    (wanted,) = evaluate_samples(graph, larger).values()
    (found,) = evaluate_samples(quantized, larger).values()
    assert sqnr(found, wanted) > 35
