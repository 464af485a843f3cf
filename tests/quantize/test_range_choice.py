"""Ranges chosen by their noise at the model's outputs."""

from __future__ import annotations

import numpy as np
from ccml.ir.types import DType
from ccml.quantization.encoding import activation_encoding
from ccml.quantization.execute import Rounding
from ccml.quantization.histogram import FOLDS, TensorStats
from ccml.quantization.range_choice import METHODS, Group, Trials, choose_ranges
from ccml.samples import Samples

from tests.quantize.networks import Network, samples_for


def deep_chain(count: int = 16) -> tuple[Trials, dict[str, Group]]:
    """Layers behind each other, and what was observed of their results."""
    net = Network((1, 8))
    x = net.x
    for _ in range(3):
        x = net.relu(net.dense(x, 8))
    graph = net.graph(net.dense(x, 4))
    samples = samples_for(graph, count)
    names = [value.name for value in graph.values() if value.name not in graph.constants]
    trials = Trials.of(graph, {name: name for name in names}, samples)
    assert trials is not None
    return trials, {name: Group(observed(trials, name, samples), encode) for name in names}


def observed(trials: Trials, name: str, samples: Samples) -> TensorStats:
    stats = TensorStats()
    rng = np.random.default_rng(len(name))
    stats.add(rng.standard_normal((samples.count, 64)).astype(np.float32))
    return stats


def encode(span: tuple[float, float]):  # type: ignore[no-untyped-def]
    return activation_encoding(*span, DType.I8, False)


def test_all_samples_are_looked_at_without_a_limit() -> None:
    trials, groups = deep_chain()
    name = next(iter(groups))
    encodings = [encode((-1.0, 1.0))] * FOLDS
    whole = trials.noises(name, encodings)
    backwards = trials.noises(name, encodings, [*reversed(range(len(trials.numbers)))])
    assert np.all(whole > 0)
    np.testing.assert_allclose(backwards, whole, rtol=1e-3)


def test_a_trial_ends_when_it_has_lost() -> None:
    """What it has lost by then is less than what all samples have, and more than the limit."""
    trials, groups = deep_chain()
    name, encodings = next(iter(groups)), [encode((-0.1, 0.1))] * FOLDS
    whole = trials.probe.mean(trials.noises(name, encodings))
    stopped = trials.noises(name, encodings, limit=whole / 1e3)
    assert np.any(stopped == 0)
    assert whole / 1e3 < trials.probe.mean(stopped) < whole


def test_no_method_is_far_noisier_than_the_first() -> None:
    """No group has a method that makes far more noise than the first, on all samples."""
    trials, groups = deep_chain()
    chosen = choose_ranges(trials, groups)
    assert set(chosen.methods) == set(groups)
    for name in set(groups) - set(chosen.quiet):
        folds = [[groups[name].encode(method.range_of(groups[name].stats, 256))] * FOLDS for method in METHODS]
        noises = [trials.probe.mean(trials.noises(name, encodings)) for encodings in folds]
        taken = noises[METHODS.index(chosen.methods[name])]
        assert taken <= 1.3 * noises[0]


def test_each_sample_is_rounded_by_its_own_encoding() -> None:
    encodings = [encode((-1.0, 1.0)), encode((0.0, 4.0))]
    x = np.linspace(-2, 5, 20, dtype=np.float32).reshape(2, 10)
    found = Rounding.of(encodings).apply(x)
    for row, encoding, values in zip(found, encodings, x):
        assert row.tolist() == encoding.dequantize(encoding.quantize(values)).tolist()
