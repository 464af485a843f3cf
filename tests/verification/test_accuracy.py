"""What is measured of a quantized model, on models whose noise is known."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph_text import parse_graph
from ccml.report.accuracy import LayerAccuracy
from ccml.samples import Batching, Samples
from ccml.verification.accuracy import Comparison, Measured, decibels, measure
from ccml.verification.mends import Tried, propose_mend

X = np.random.default_rng(0).uniform(-1, 1, (400, 1, 2)).astype(np.float32)

ORIGINAL = """
graph g(%x: f32[1,2]) -> (%y)
  const %w : f32[2,2] = dense<1.0, 0.0, 0.0, 1.0>
  %m : f32[1,2] = matmul(%x, %w)   @"dense"
  %y : f32[1,2] = abs(%m)   @"act"
"""


def measured(scale: float, weight_scale: float) -> Measured:
    """``x`` is stored in steps of ``scale``; the weights, which are 1, as 100 times ``weight_scale``."""
    stored = f"scale=[{scale!r}], zero_point=[0]"
    quantized = f"""
    graph g(%x: f32[1,2]) -> (%y)
      const %w.q : i8[2,2] = dense<100, 0, 0, 100>
      %w.dq : f32[2,2] = dequantize(%w.q) {{axis=0, scale=[{weight_scale!r}], zero_point=[0]}}
      %x.q : i8[1,2] quant(scale={scale!r}, zero_point=0) = quantize(%x) {{axis=0, {stored}, to=i8}}
      %x.dq : f32[1,2] = dequantize(%x.q) {{axis=0, {stored}}}
      %m : f32[1,2] = matmul(%x.dq, %w.dq)   @"dense"
      %y : f32[1,2] = abs(%m)   @"act"
    """
    samples = Samples({"x": X}, {}, len(X), Batching.LEADING)
    return measure(parse_graph(ORIGINAL), parse_graph(quantized), samples)


def rows(result: Measured) -> dict[str, LayerAccuracy]:
    return {row.layer: row for row in result.layers}


def test_rounding() -> None:
    found = rows(measured(0.125, 0.01))["x"]
    expected = 10 * np.log10(np.mean(np.square(X)) / (0.125**2 / 12))
    assert found.own_sqnr_db == found.sqnr_db == pytest.approx(expected, abs=0.5)
    assert (found.cause, found.saturation, found.dtype) == ("rounding", 0, "i8")


def test_clipping() -> None:
    found = rows(measured(0.5 / 127, 0.01))["x"]
    assert found.saturation == pytest.approx(0.5, abs=0.05)
    assert found.cause == "clipping"


def test_what_no_reader_notices_is_not_clipped() -> None:
    """Bytes from 0 to 1 of what a ReLU reads: half of the elements cannot be stored, and the ReLU makes them 0."""
    original = """
    graph g(%x: f32[1,2]) -> (%y)
      %r : f32[1,2] = relu(%x)   @"act"
      %y : f32[1,2] = abs(%r)   @"end"
    """
    stored = f"axis=0, scale=[{1 / 255!r}], zero_point=[-128]"
    quantized = f"""
    graph g(%x: f32[1,2]) -> (%y)
      %x.q : i8[1,2] quant(scale={1 / 255!r}, zero_point=-128) = quantize(%x) {{{stored}, to=i8}}
      %x.dq : f32[1,2] = dequantize(%x.q) {{{stored}}}
      %r : f32[1,2] = relu(%x.dq)   @"act"
      %y : f32[1,2] = abs(%r)   @"end"
    """
    samples = Samples({"x": X}, {}, len(X), Batching.LEADING)
    found = rows(measure(parse_graph(original), parse_graph(quantized), samples))["x"]
    expected = 10 * np.log10(np.mean(np.square(np.maximum(X, 0))) / (np.mean(X > 0) * (1 / 255) ** 2 / 12))
    assert found.own_sqnr_db == found.sqnr_db == pytest.approx(expected, abs=0.5)
    assert (found.cause, found.saturation) == ("rounding", 0)


def test_noise_of_weights_is_the_layers_own() -> None:
    result = measured(1 / 127, 0.009)
    found = rows(result)["dense"]
    assert (found.cause, found.dtype, found.tensor) == ("weights", "f32", "y")
    assert found.own_sqnr_db == pytest.approx(20, abs=0.01)
    assert [row.layer for row in result.layers] == ["dense", "x"]
    assert result.layers[0].noise_share > 0.9


def test_a_layer_without_noise_of_its_own() -> None:
    found = rows(measured(0.125, 0.01))["dense"]
    assert found.own_sqnr_db is None or found.own_sqnr_db > 100
    assert found.sqnr_db == pytest.approx(rows(measured(0.125, 0.01))["x"].sqnr_db, abs=0.5)


SCALED = """
graph g(%x: f32[1,2]) -> (%y)
  const %c : f32[] = dense<0.25>
  %t : f32[2,1] = transpose(%x) {perm=[1,0]}
  %m : f32[2,2] = matmul(%t, %x)   @"product"
  %s : f32[2,2] = mul(%m, %c)   @"scaled"
  %y : f32[2,2] = softmax(%s) {axis=1}   @"softmax"
"""


def test_tensors_that_are_moved_or_read_in_another_scale_are_exact_where_layers_are_measured_alone() -> None:
    """x / 4 is x in steps of a quarter, and a transpose moves what is stored: only storing x and m adds noise."""
    x, m, read = ({"scale": (step,), "zero_point": (0,), "axis": 0} for step in (1 / 64, 1 / 8, 1 / 32))
    spelled = [f"{{axis=0, scale=[{e['scale'][0]}], zero_point=[0]}}" for e in (x, m, read)]
    stored = [text.replace("}", ", to=i8}") for text in spelled]
    types = [f"quant(scale={e['scale'][0]}, zero_point=0)" for e in (x, m)]
    quantized = f"""
    graph g(%x: f32[1,2]) -> (%y)
      %x.q : i8[1,2] {types[0]} = quantize(%x) {stored[0]}
      %x.dq : f32[1,2] = dequantize(%x.q) {spelled[0]}
      %t : f32[2,1] = transpose(%x.dq) {{perm=[1,0]}}
      %t.q : i8[2,1] {types[0]} = quantize(%t) {stored[0]}
      %t.dq : f32[2,1] = dequantize(%t.q) {spelled[0]}
      %m : f32[2,2] = matmul(%t.dq, %x.dq)   @"product"
      %s.q : i8[2,2] {types[1]} = quantize(%m) {stored[1]}   @"scaled"
      %s.dq : f32[2,2] = dequantize(%s.q) {spelled[2]}
      %y : f32[2,2] = softmax(%s.dq) {{axis=1}}   @"softmax"
    """
    samples = Samples({"x": X}, {}, len(X), Batching.LEADING)
    found = rows(measure(parse_graph(SCALED), parse_graph(quantized), samples))
    assert found["product"].cause == "rounding"
    assert found["product"].own_sqnr_db == pytest.approx(10 * np.log10(np.mean(X**4) / (0.125**2 / 12)), abs=3)
    assert found["softmax"].own_sqnr_db is None or found["softmax"].own_sqnr_db > 100


def test_outputs() -> None:
    (output,) = measured(0.125, 0.01).outputs
    assert output.name == "y"
    assert output.max_abs == pytest.approx(0.0625, abs=0.005)
    assert output.top1_agreement == pytest.approx(0.95, abs=0.05)


def test_results_hold_samples_as_the_inputs_do() -> None:
    result = measured(0.125, 0.01)
    np.testing.assert_allclose(result.float_results["y"], np.abs(X).reshape(400, 2), atol=1e-6)
    assert result.quantized_results["y"].shape == (400, 2)


def test_decibels() -> None:
    assert (decibels(0, 1), decibels(0.01, 1), decibels(1, 0)) == (None, 20, -100)


def test_cosine() -> None:
    sums = Comparison()
    sums.add(np.zeros(3), np.zeros(3))
    assert sums.cosine == 1
    sums.add(np.array([1.0, 0, 0]), np.array([1.0, 1.0, 0]))
    assert sums.cosine == pytest.approx(np.sqrt(0.5))


def layer(cause: str | None, own: float | None = 30.0, share: float = 0.5, dtype: str = "i8") -> LayerAccuracy:
    return LayerAccuracy(0, "conv", "t", dtype, 30.0, own, 0.999, 0.0, share, cause)


@pytest.mark.parametrize(
    ("row", "tried", "mend"),
    [
        (layer("rounding"), Tried("mse", True, True, False), 'precision = "int16"'),
        (layer("rounding", dtype="i16"), Tried("mse", True, True, False), 'precision = "float"'),
        (layer("rounding"), Tried("mse", False, True, False), "--equalize"),
        (layer("rounding"), Tried("min-max", True, True, False), 'range = "mse"'),
        (layer("clipping"), Tried("mse", True, True, False), 'range = "min-max"'),
        (layer("clipping"), Tried("min-max", True, True, False), "more calibration data"),
        (layer("weights"), Tried("mse", True, False, False), "--weight-scales per-channel"),
        (layer("weights"), Tried("mse", True, True, False), "--rounding adaptive"),
        (layer("weights"), Tried("mse", True, True, True), 'precision = "float"'),
        (layer("rounding", own=50.0), Tried("mse", True, True, True), None),
        (layer("rounding", share=0.01), Tried("mse", True, True, True), None),
        (layer(None, own=None), Tried("mse", True, True, True), None),
    ],
)
def test_mends(row: LayerAccuracy, tried: Tried, mend: str | None) -> None:
    assert propose_mend(row, tried) == mend
