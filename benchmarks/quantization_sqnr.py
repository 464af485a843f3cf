"""Post-training quantization by ccml and by ONNX Runtime: SQNR of the outputs on inputs that did not calibrate.

    python benchmarks/quantization_sqnr.py                   # all of the model set, every fifth sample held out
    python benchmarks/quantization_sqnr.py kws ic --folds 5  # each sample held out once, five quantizations

Both quantize the same float model with the same samples and their default options: ccml as ``ccml quantize`` does; ONNX
Runtime by ``quantize_static``: QDQ, int8 activations, int8 weights per channel, ranges from minimum and maximum. The
fp32 model in ONNX Runtime is what both are compared with. For digits all of digits_calib.npz calibrates and
digits_test.npz tests; for the others sample n is held out of fold n mod 5.

``SQNR`` is 10 log10(signal / noise) of the model's output, both summed over all elements and test samples. Where the
output comes from a Softmax, ``logits`` is the same for what the Softmax reads, in both models. ccml's model is measured
as it is compiled (JIT, in this process).
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
import onnx
import onnxruntime as ort
from ccml.driver import read
from ccml.ir.graph import Graph
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.samples import match_samples
from ccml.verification.float_model import FloatModel
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

MODELS = Path(os.environ.get("CCML_MODELS") or Path(__file__).resolve().parents[2] / "shared" / "models")
FLOAT_MODELS = {
    "kws": "mlperf_tiny_kws_dscnn",
    "ic": "mlperf_tiny_ic_resnet8",
    "wakeword": "mlperf_tiny_streaming_wakeword",
    "vww": "mlperf_tiny_vww_mobilenetv1_025",
    "ad": "mlperf_tiny_ad_autoencoder",
    "digits": "digits_cnn",
    "transformer": "transformer_2l_d64",
}
FOLDS = 5


@dataclass
class Ratio:
    signal: float = 0.0
    noise: float = 0.0

    def add(self, found: np.ndarray, wanted: np.ndarray) -> None:
        self.signal += float(np.square(wanted, dtype=np.float64).sum())
        self.noise += float(np.square(found.astype(np.float64) - wanted).sum())

    @property
    def db(self) -> float:
        return float(10 * np.log10(self.signal / self.noise)) if self.noise else float("inf")


@dataclass
class Tally:
    """Of one quantizer and one model: SQNR by tensor, samples with the same largest output, seconds."""

    ratios: dict[str, Ratio] = field(default_factory=dict)
    same_class: int = 0
    right: int = 0
    samples: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Task:
    """A float model, the same as ONNX Runtime's tools prepare it for quantization, the name of its input, its output,
    and what a final Softmax reads (or ``None``)."""

    file: Path
    prepared: Path
    input: str
    output: str
    logits: str | None

    @property
    def shown(self) -> list[str]:
        return [self.output] if self.logits is None else [self.output, self.logits]


def task(stem: str, folder: Path) -> Task:
    """The model with a batch of one."""
    model = onnx.load(MODELS / f"{stem}.onnx")
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = 1
    bound, prepared = folder / f"{stem}_bound.onnx", folder / f"{stem}.onnx"
    onnx.save(model, bound)
    quant_pre_process(bound, prepared, skip_symbolic_shape=True)
    graph = model.graph
    output = graph.output[0].name
    last = next(node for node in graph.node if output in node.output)
    return Task(bound, prepared, graph.input[0].name, output, last.input[0] if last.op_type == "Softmax" else None)


@dataclass(frozen=True)
class Split:
    """Samples, each with a batch of one."""

    calibration: list[np.ndarray]
    test: list[np.ndarray]
    labels: np.ndarray | None = None


def splits(stem: str, folds: int) -> Iterator[Split]:
    if stem == "digits_cnn":
        test = np.load(MODELS / "digits_test.npz")
        yield Split(_samples(np.load(MODELS / "digits_calib.npz")["input"]), _samples(test["input"]), test["label"])
        return
    samples = _samples(np.load(MODELS / f"{stem}_calib.npz")["input"])
    for fold in range(FOLDS - folds, FOLDS):
        held_out = [number % FOLDS == fold for number in range(len(samples))]
        yield Split(
            [sample for sample, held in zip(samples, held_out) if not held],
            [sample for sample, held in zip(samples, held_out) if held],
        )


def _samples(array: np.ndarray) -> list[np.ndarray]:
    return [sample[np.newaxis] for sample in array.astype(np.float32)]


# ---------------------------------------------------------------- the quantizers


Results = list[dict[str, np.ndarray]]
"""The values shown, sample by sample."""


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    # Kernels of unsigned by signed bytes saturate without VNNI, and some models are rewritten into what does not load.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_onnx(model: onnx.ModelProto, input_name: str, shown: Sequence[str], samples: Sequence[np.ndarray]) -> Results:
    known = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in shown if name not in known)
    running = session(model)
    return [dict(zip(shown, running.run(list(shown), {input_name: sample}))) for sample in samples]


class Reader(CalibrationDataReader):
    def __init__(self, name: str, samples: Sequence[np.ndarray]) -> None:
        self._feeds = iter([{name: sample} for sample in samples])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


def by_onnxruntime(what: Task, split: Split, folder: Path) -> tuple[Results, float]:
    """Results on the test samples, and the seconds that quantization took."""
    result, start = folder / "quantized.onnx", perf_counter()
    quantize_static(
        what.prepared, result, Reader(what.input, split.calibration), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
    )  # fmt: skip
    seconds = perf_counter() - start
    model = onnx.load(result)
    shown = [what.output]
    if what.logits is not None:
        shown.append(next(node for node in model.graph.node if node.op_type == "Softmax").input[0])
    found = run_onnx(model, what.input, shown, split.test)
    return [dict(zip(what.shown, one.values())) for one in found], seconds


def by_ccml(what: Task, split: Split, options: QuantizeOptions) -> tuple[Results, float]:
    start = perf_counter()
    graph = read(what.file).graph
    samples = match_samples({what.input: np.concatenate(split.calibration)}, graph.inputs, ())
    quantized = quantize_graph(graph, samples, options).graph
    seconds = perf_counter() - start
    shown = [what.output] if what.logits is None else [what.output, _softmax_reads(quantized)]
    model = FloatModel(quantized, shown)
    runs = [model.run({what.input: sample}) for sample in split.test]
    return [dict(zip(what.shown, (run[name] for name in shown))) for run in runs], seconds


def _softmax_reads(graph: Graph) -> str:
    return next(node for node in graph.nodes if node.op == "softmax").operands[0].name


# ---------------------------------------------------------------- the table


def count(tally: Tally, found: Results, wanted: Results, split: Split, seconds: float) -> None:
    tally.seconds += seconds
    tally.samples += len(found)
    output = next(iter(wanted[0]))
    classes = [int(one[output].argmax()) for one in found]
    tally.same_class += sum(own == int(one[output].argmax()) for own, one in zip(classes, wanted))
    tally.right += 0 if split.labels is None else int(np.sum(classes == split.labels))
    for ours, theirs in zip(found, wanted):
        for name, array in theirs.items():
            tally.ratios.setdefault(name, Ratio()).add(ours[name].reshape(array.shape), array)


def compare(short: str, folds: int, options: QuantizeOptions) -> float:
    """Prints the lines of one model; returns what ccml gains at its output."""
    stem, tallies = FLOAT_MODELS[short], {"ccml": Tally(), "ORT": Tally()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        what = task(stem, folder)
        for split in splits(stem, folds):
            wanted = run_onnx(onnx.load(what.file), what.input, what.shown, split.test)
            for own, (found, seconds) in (
                ("ccml", by_ccml(what, split, options)),
                ("ORT", by_onnxruntime(what, split, folder)),
            ):
                count(tallies[own], found, wanted, split, seconds)
    rows = [("output", what.output), ("logits", what.logits)]
    for place, tensor in ((place, tensor) for place, tensor in rows if tensor is not None):
        own, theirs = (tallies[each].ratios[tensor].db for each in ("ccml", "ORT"))
        title, rest = (short, [_rest(tally, folds) for tally in tallies.values()]) if place == "output" else ("", [])
        print(f"{title:12} {place:7} {own:6.2f} {theirs:6.2f} {own - theirs:+6.2f}", *rest, sep="  ", flush=True)
    return tallies["ccml"].ratios[what.output].db - tallies["ORT"].ratios[what.output].db


def _rest(tally: Tally, folds: int) -> str:
    text = f"{tally.same_class:4}/{tally.samples:<4} {tally.seconds / folds:5.1f} s"
    return text + (f" {tally.right / tally.samples:.1%} right" if tally.right else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *FLOAT_MODELS], help="default: all")
    parser.add_argument("--folds", type=int, default=1, choices=range(1, FOLDS + 1), help="of five")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"{'SQNR, dB':12} {'':7} {'ccml':>6} {'ORT':>6} {'gain':>6}  same class and time to quantize: ccml, ORT")
    gains = [compare(short, arguments.folds, QuantizeOptions()) for short in arguments.models or FLOAT_MODELS]
    print(f"mean gain {np.mean(gains):+.2f} dB, least {min(gains):+.2f} dB")


if __name__ == "__main__":
    main()
