"""Mixed precision: as much as is demanded, and what it costs."""

from collections.abc import Mapping

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.quantization import MixedPrecision, QuantizedModel, QuantizeOptions, Raise, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.quantize import sqnr

from tests.quantize.networks import classifier, samples_for, stored_of

GRAPH = classifier(softmax=False)
SAMPLES, TEST = samples_for(GRAPH, 12), samples_for(GRAPH, 12, seed=5)
MACS = 8 * 64 * 27 + 8 * 64 * 9 + 8 * 64 * 8 + 8 * 4


def quantized(**options: float) -> tuple[QuantizedModel, MixedPrecision]:
    model = quantize_graph(GRAPH, SAMPLES, QuantizeOptions(**options), test=TEST)  # type: ignore[arg-type]
    assert model.mixed is not None
    return model, model.mixed


def quality(model: QuantizedModel) -> float:
    (wanted,), (found,) = (evaluate_samples(graph, TEST).values() for graph in (GRAPH, model.graph))
    return sqnr(found, wanted)


def test_nothing_is_raised_without_need() -> None:
    _, mixed = quantized(min_sqnr=5.0)
    assert mixed.steps == ()
    assert mixed.before == mixed.after
    assert mixed.before.int8_macs + mixed.before.int16_macs == MACS
    assert mixed.before.int16_macs < MACS / 6


def test_the_noisiest_are_raised_first() -> None:
    plain = quality(quantize_graph(GRAPH, SAMPLES))
    model, mixed = quantized(min_sqnr=plain + 6)
    assert quality(model) >= plain + 6
    shares = [step.noise_share for step in mixed.steps]
    assert shares == sorted(shares, reverse=True)
    assert 0 < len(mixed.steps) < 8
    after = mixed.after
    assert after.int8_macs + after.int16_macs + after.float_macs == MACS
    assert after.int8_macs < MACS
    wide = {step.layer for step in mixed.steps if step.precision is Raise.INT16}
    assert len([dtype for dtype in stored_of(model.graph).values() if dtype is DType.I16]) >= len(wide)


def test_any_demand_is_met_by_floats_in_the_end() -> None:
    model, mixed = quantized(min_sqnr=100.0)
    assert quality(model) > 100
    assert mixed.after.float_macs == MACS
    assert mixed.after.weight_bytes == pytest.approx(4 * mixed.before.weight_bytes, rel=0.3)


def test_16_bits_are_not_far_better_than_demanded() -> None:
    """Where some weights have them the noise falls by 20 dB and more at once; their steps can be coarser."""
    model, mixed = quantized(min_sqnr=60.0)
    assert mixed.after.float_macs == 0
    assert mixed.after.int16_weight_macs > 0
    assert 60 <= quality(model) < 63


def test_top1_agreement() -> None:
    """The float model agrees with itself; a drop of nothing is demanded."""
    model, _ = quantized(max_accuracy_drop=0.0)
    (wanted,), (found,) = (evaluate_samples(graph, TEST).values() for graph in (GRAPH, model.graph))
    assert np.array_equal(wanted.argmax(-1), found.argmax(-1))


def test_an_own_score() -> None:
    asked: list[float] = []
    (wanted,) = evaluate_samples(GRAPH, TEST).values()

    def score(outputs: Mapping[str, np.ndarray]) -> float:
        (found,) = outputs.values()
        asked.append(-float(np.abs(found - wanted).max()))
        return asked[-1]

    model = quantize_graph(GRAPH, SAMPLES, QuantizeOptions(max_accuracy_drop=0.02), test=TEST, score=score)
    assert asked[0] == pytest.approx(0, abs=1e-5)
    assert asked[1] < -0.02
    score(evaluate_samples(model.graph, TEST))
    assert asked[-1] >= -0.02
    assert model.mixed is not None
    assert model.mixed.steps
