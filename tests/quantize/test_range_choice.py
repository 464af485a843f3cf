"""Ranges chosen by their noise at the model's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.quantization import QuantizeOptions, quantize_graph, range_choice
from ccml.quantization.encoding import Encoding, activation_encoding
from ccml.quantization.execute import Rounding, evaluate_samples
from ccml.quantization.histogram import FOLDS, TensorStats
from ccml.quantization.options import RangeMethod
from ccml.quantization.probe import judged
from ccml.quantization.quantize import prepare, sqnr
from ccml.quantization.quantizer import Quantizer
from ccml.quantization.range_choice import COMMON, Group, Method, Trials, choose_ranges
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


def held_out(trials: Trials, groups: dict[str, Group], methods: dict[str, Method]) -> float:
    """The noise of groups together, with ranges from all folds but the sample's own."""
    encodings = {}
    for name, method in methods.items():
        folds = groups[name].stats.folds
        others = [replace(groups[name].stats, folds=[*folds[:n], *folds[n + 1 :]]) for n in range(FOLDS)]
        encodings[name] = [encode(method.range_of(stats, 256)) for stats in others]
    return trials.probe.mean(trials.noises(encodings))


def test_all_samples_are_looked_at_without_a_limit() -> None:
    trials, groups = deep_chain()
    encodings = {next(iter(groups)): [encode((-1.0, 1.0))] * FOLDS}
    whole = trials.noises(encodings)
    backwards = trials.noises(encodings, [*reversed(range(len(trials.numbers)))])
    assert np.all(whole > 0)
    np.testing.assert_allclose(backwards, whole, rtol=1e-3)


def test_some_samples_are_compared_with_their_own_power() -> None:
    trials, groups = deep_chain()
    encodings = {next(iter(groups)): [encode((-1.0, 1.0))] * FOLDS}
    whole, some = trials.noises(encodings), trials.noises(encodings, [3, 7])
    assert np.flatnonzero(some[0]).tolist() == [3, 7]
    (wanted,) = trials.probe.wanted
    expected = whole[0, [3, 7]].sum() / np.square(wanted[[3, 7]].astype(np.float64)).sum()
    assert trials.probe.mean_of(some, [3, 7]) == pytest.approx(expected, rel=1e-3)


def test_a_trial_ends_when_it_has_lost() -> None:
    """The noise of what has lost is infinite, whatever was seen of it; others are told of all samples in order."""
    trials, groups = deep_chain(40)
    encodings = {next(iter(groups)): [encode((-0.1, 0.1))] * FOLDS}
    whole = trials.noises(encodings)
    order = [*reversed(range(len(trials.numbers)))]
    seen: list[list[int]] = []

    def is_lost(noises: np.ndarray, places: Sequence[int]) -> bool:
        seen.append([*places])
        np.testing.assert_allclose(noises[:, places], whole[:, places], rtol=1e-3)
        return len(places) >= 16

    assert np.all(np.isinf(trials.noises(encodings, order, is_lost)))
    assert seen[-1] == order[: len(seen[-1])] and 16 <= len(seen[-1]) < len(order)


def test_methods_are_told_apart_by_the_samples_that_lose_most() -> None:
    """A method that wins for the four samples that make the noise, and loses a little for others, is tried to the end;
    in the order of the samples it would look like one that loses."""
    first = np.full((1, 24), 1e-3)
    first[:, [5, 11, 17, 23]] = 1.0
    other = np.where(first < 1, 2e-3, 0.3)
    order = range_choice.worst_first(first)
    assert {*order[:4]} == {5, 11, 17, 23}
    assert range_choice.is_less(other[:, order[:8]], first[:, order[:8]])
    assert not range_choice.is_less(other[:, :5], first[:, :5])


def test_no_output_counts_for_more_than_another() -> None:
    """Of two outputs one has far larger numbers."""
    first = np.array([[1.0, 1.0], [1e6, 1e6]])
    assert range_choice.is_less(first * [[0.5], [1.5]], first)
    assert not range_choice.is_less(first * [[0.8], [1.3]], first)


def test_groups_are_known_at_a_glance_but_for_those_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the latter one that makes next to no noise is not looked at again."""
    trials, groups = deep_chain(40)
    chosen = choose_ranges(trials, groups)
    assert chosen.method in COMMON
    glance = trials.noise_of_each(chosen.folds, [])
    *_, quiet, loud = sorted(glance, key=lambda name: glance[name])
    fine = {quiet: [activation_encoding(-64.0, 64.0, DType.I16, True)] * FOLDS}
    tried: dict[str, int] = {}
    noises = Trials.noises

    def counting(self: Trials, encodings: Mapping[str, Sequence[Encoding]], places: Sequence[int]) -> np.ndarray:
        (name,) = encodings
        tried[name] = tried.get(name, 0) + len(places)
        return noises(self, encodings, places)

    monkeypatch.setattr(Trials, "noises", counting)
    found = trials.noise_of_each({**chosen.folds, **fine}, [quiet, loud])
    assert tried == {name: 8 + 24 * (name == loud) for name in groups}
    assert found[quiet] < 1e-3 * found[loud]
    tried.clear()
    assert trials.noise_of_each({**chosen.folds, **fine}, [quiet], found[loud]) == {}
    assert tried == {quiet: 8}


@pytest.mark.parametrize(("most", "tried", "singly"), [(1 << 34, 32, True), (1, 12, False)])
def test_large_models_compare_methods_only(
    most: int, tried: int, singly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of more multiply-accumulates than trials of single tensors may take."""
    monkeypatch.setattr(range_choice, "_MOST_MACS", most)
    net = Network((1, 8))
    graph = net.graph(net.dense(net.relu(net.dense(net.x, 8)), 4))
    samples = samples_for(graph, 32)
    trials = Trials.of(graph, {"x": "x"}, samples)
    assert trials is not None and (len(trials.numbers), trials.singly) == (tried, singly)
    quantizer = Quantizer.of(prepare(graph), samples, QuantizeOptions())
    assert quantizer.method in COMMON
    assert singly or (quantizer.wider is None and not quantizer.wide)


def test_probabilities_are_judged_by_the_scores_behind_them() -> None:
    net = Network((1, 8))
    scores = net.dense(net.relu(net.dense(net.x, 8)), 4)
    other = net.dense(net.x, 2)
    graph = net.graph(net.op("softmax", scores, axis=1), other)
    assert judged(graph) == [scores.name, other.name]


def test_the_method_for_all_is_clearly_better_or_the_first() -> None:
    """Samples of which every fourth pair is far larger: a range that cuts them off loses most of the output's power."""
    net = Network((1, 8))
    graph = net.graph(net.dense(net.x, 4))
    samples = samples_for(graph, 32)
    name = graph.inputs[0].name
    scaled = samples.inputs[name] * np.where(np.arange(32) % 8 < 2, 1.0, 0.02).astype(np.float32)[:, None, None]
    samples = replace(samples, inputs={name: scaled})
    trials = Trials.of(graph, {name: name}, samples)
    assert trials is not None
    stats = TensorStats()
    stats.add(scaled)
    groups = {name: Group(stats, encode)}
    chosen = choose_ranges(trials, groups)
    own = held_out(trials, groups, {name: chosen.method})
    each = {method: held_out(trials, groups, {name: method}) for method in COMMON}
    assert own <= each[COMMON[0]]
    assert own <= min(each.values()) * 10**0.2 * 1.001


def test_little_less_noise_counts_if_all_samples_have_it() -> None:
    first = np.random.default_rng(0).uniform(0.5, 1.5, (2, 24))
    assert range_choice.is_surely_less(first * 0.95, first)
    one = first.copy()
    one[:, 7] *= 0.1
    assert one.sum() < first.sum() and not range_choice.is_surely_less(one, first)


def test_samples_far_from_the_others_count_wherever_they_are() -> None:
    """Two of 48 samples are ten times the others. Whichever they are, no range is chosen that would cut them off: that
    costs far more than the fifth by which a range may be too wide."""
    net = Network((1, 8))
    graph = net.graph(net.dense(net.relu(net.dense(net.x, 8)), 4))
    for far in ((13, 21), (0, 47)):
        samples = samples_for(graph, 48)
        scales = np.where(np.isin(np.arange(48), far), 10.0, 1.0).astype(np.float32)
        samples = replace(samples, inputs={"x": samples.inputs["x"] * scales[:, None, None]})
        (wanted,) = evaluate_samples(graph, samples).values()
        found = {}
        for method in (RangeMethod.AUTO, RangeMethod.MIN_MAX):
            options = QuantizeOptions(range_method=method, min_sqnr=0)
            (outputs,) = evaluate_samples(quantize_graph(graph, samples, options).graph, samples).values()
            found[method] = sqnr(outputs, wanted)
        assert found[RangeMethod.AUTO] > found[RangeMethod.MIN_MAX] - 3


def test_each_sample_is_rounded_by_its_own_encoding() -> None:
    encodings = [encode((-1.0, 1.0)), encode((0.0, 4.0))]
    x = np.linspace(-2, 5, 20, dtype=np.float32).reshape(2, 10)
    found = Rounding.of(encodings).apply(x)
    for row, encoding, values in zip(found, encodings, x):
        assert row.tolist() == encoding.dequantize(encoding.quantize(values)).tolist()
