"""Post-training quantization by ccml, ONNX Runtime and NNCF: SQNR of the outputs on inputs that did not calibrate.

    python benchmarks/quantization_rivals.py                        # the model set and generated models
    python benchmarks/quantization_rivals.py kws masked --folds 5   # each sample held out once, five quantizations

All quantize the same float model with the same samples and their default options, to int8:

* ccml as ``ccml quantize`` does;
* ONNX Runtime's ``quantize_static``: QDQ, int8 activations, weights per channel, ranges from minimum and maximum
  (``ort``) and from a percentile of 99.999 (``ort-pct``);
* NNCF's ``quantize`` (``nncf``), where it is installed (``pip install nncf``); with its preset for transformers where a
  softmax is inside the model.

The float model in ONNX Runtime is what all are compared with. Quantized models of rivals run there as ONNX defines
them. Sample n is held out of fold n mod 5; for digits all of digits_calib.npz calibrates and digits_test.npz tests.
SQNR is 10 log10(signal / noise), both summed over all elements of an output and test samples; of several outputs the
least counts.

Seconds are processor time of this process, all threads together, from model file to quantized model: what is imported
at the head of this file is there already; what a tool imports in its first call counts, in the first fold. ONNX
Runtime's are those of ``quant_pre_process`` and ``quantize_static``, which read and write files; ccml's those of
reading the file and ``quantize_graph``. The command ``ccml quantize`` adds its imports and the report.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import onnx
import onnxruntime as ort
from ccml.driver import read
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.samples import match_samples
from ccml.verification.float_model import FloatModel
from generated_models import GENERATED, Feeds
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from quantization_sqnr import FLOAT_MODELS, FOLDS, MODELS, Ratio

GENERATED_SAMPLES = 40
PERCENTILE = 99.999


@dataclass(frozen=True)
class Split:
    """Samples, each with a batch of one."""

    calibration: list[Feeds]
    test: list[Feeds]


@dataclass(frozen=True)
class Task:
    """The file of a float model with a batch of one, its outputs, and its splits."""

    file: Path
    outputs: list[str]
    splits: list[Split]


def task(name: str, folds: int, seed: int, samples: int, folder: Path) -> Task:
    in_set = name in FLOAT_MODELS
    model, splits = _of_set(FLOAT_MODELS[name], folds) if in_set else _generated(name, folds, seed, samples)
    file = folder / "float.onnx"
    onnx.save(model, file)
    return Task(file, [value.name for value in model.graph.output], splits)


def _of_set(stem: str, folds: int) -> tuple[onnx.ModelProto, list[Split]]:
    model = onnx.load(MODELS / f"{stem}.onnx")
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = 1
    name = model.graph.input[0].name

    def samples(file: str) -> list[Feeds]:
        return [{name: row[np.newaxis]} for row in np.load(MODELS / file)["input"].astype(np.float32)]

    if stem == "digits_cnn":
        return model, [Split(samples("digits_calib.npz"), samples("digits_test.npz"))]
    return model, list(_folds(samples(f"{stem}_calib.npz"), folds))


def _generated(name: str, folds: int, seed: int, count: int) -> tuple[onnx.ModelProto, list[Split]]:
    made = GENERATED[name](seed, count)
    return made.model, list(_folds(made.samples, folds))


def _folds(samples: Sequence[Feeds], folds: int) -> Iterator[Split]:
    for fold in range(FOLDS - folds, FOLDS):
        kept = [one for number, one in enumerate(samples) if number % FOLDS != fold]
        yield Split(kept, [one for number, one in enumerate(samples) if number % FOLDS == fold])


# ---------------------------------------------------------------- the quantizers

Outputs = list[dict[str, np.ndarray]]
Quantizer = Callable[[Task, Split, Path], tuple[Outputs, float]]
"""The outputs for the test samples, and the seconds that quantization took."""


def run_onnx(model: onnx.ModelProto, what: Task, samples: Sequence[Feeds]) -> Outputs:
    """Without fusions: kernels of bytes saturate 16-bit sums on processors without VNNI."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    running = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [dict(zip(what.outputs, running.run(what.outputs, one), strict=True)) for one in samples]


def by_ccml(what: Task, split: Split, folder: Path) -> tuple[Outputs, float]:
    start = process_time()
    graph = read(what.file).graph
    stacked = {name: np.stack([one[name] for one in split.calibration]) for name in split.calibration[0]}
    quantized = quantize_graph(graph, match_samples(stacked, graph.inputs, ()), QuantizeOptions()).graph
    seconds = process_time() - start
    model = FloatModel(quantized, what.outputs)
    runs = [model.run(one) for one in split.test]
    return [{name: run[name] for name in what.outputs} for run in runs], seconds


class Reader(CalibrationDataReader):
    def __init__(self, feeds: Sequence[Feeds]) -> None:
        self._feeds = iter(feeds)

    def get_next(self) -> Feeds | None:
        return next(self._feeds, None)


def by_onnxruntime(what: Task, split: Split, folder: Path, method: CalibrationMethod) -> tuple[Outputs, float]:
    prepared, result, start = folder / "prepared.onnx", folder / "quantized.onnx", process_time()
    quant_pre_process(what.file, prepared, skip_symbolic_shape=True)
    quantize_static(
        prepared, result, Reader(split.calibration), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, calibrate_method=method,
        extra_options={"CalibPercentile": PERCENTILE} if method is CalibrationMethod.Percentile else {},
    )  # fmt: skip
    seconds = process_time() - start
    return run_onnx(onnx.load(result), what, split.test), seconds


def by_nncf(what: Task, split: Split, folder: Path) -> tuple[Outputs, float]:
    import nncf

    start = process_time()
    model = onnx.load(what.file)
    softmax = any(node.op_type == "Softmax" and node.output[0] not in what.outputs for node in model.graph.node)
    kind = nncf.ModelType.TRANSFORMER if softmax else None
    data = nncf.Dataset(split.calibration)
    quantized = nncf.quantize(model, data, subset_size=len(split.calibration), model_type=kind)
    seconds = process_time() - start
    return run_onnx(quantized, what, split.test), seconds


def quantizers() -> dict[str, Quantizer]:
    found: dict[str, Quantizer] = {
        "ccml": by_ccml,
        "ort": lambda *of: by_onnxruntime(*of, CalibrationMethod.MinMax),
        "ort-pct": lambda *of: by_onnxruntime(*of, CalibrationMethod.Percentile),
    }
    if importlib.util.find_spec("nncf") is not None:
        found["nncf"] = by_nncf
    return found


# ---------------------------------------------------------------- the table


@dataclass
class Result:
    """Of one quantizer and one model, over all folds; ``failed`` says why there is none."""

    ratios: dict[str, Ratio]
    seconds: float = 0.0
    failed: str = ""

    @property
    def db(self) -> float:
        return -np.inf if self.failed else min(ratio.db for ratio in self.ratios.values())


def measured(quantizer: Quantizer, what: Task, wanted: Sequence[Outputs], folder: Path) -> Result:
    result = Result({name: Ratio() for name in what.outputs})
    for split, outputs in zip(what.splits, wanted):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found, seconds = quantizer(what, split, folder)
        except Exception as problem:  # the tools of others raise anything
            result.failed = f"{type(problem).__name__}: {problem}".splitlines()[0]
            return result
        result.seconds += seconds / len(what.splits)
        for own, theirs in zip(found, outputs):
            for name, ratio in result.ratios.items():
                ratio.add(own[name].reshape(theirs[name].shape), theirs[name])
    return result


def compare(name: str, what: Task, tried: Mapping[str, Quantizer], folder: Path) -> dict[str, Result]:
    """Prints the line of one model."""
    model = onnx.load(what.file)
    wanted = [run_onnx(model, what, split.test) for split in what.splits]
    results = {tool: measured(quantizer, what, wanted, folder) for tool, quantizer in tried.items()}
    cells = "".join(f"{'-' if one.failed else f'{one.db:.2f}':>9}" for one in results.values())
    times = "  ".join("-" if one.failed else f"{one.seconds:.1f}" for one in results.values())
    rivals = [one.db for tool, one in results.items() if tool != "ccml"]
    gain = f"{results['ccml'].db - max(rivals, default=-np.inf):+9.2f}"
    print(f"{name:12}{cells}{gain}   {times}", flush=True)
    for tool, one in results.items():
        if one.failed:
            print(f"{'':12}{tool} failed: {one.failed[:90]}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *FLOAT_MODELS, *GENERATED], help="default: all")
    parser.add_argument("--folds", type=int, default=1, choices=range(1, FOLDS + 1), help="of five")
    parser.add_argument("--seed", type=int, default=0, help="of generated models")
    parser.add_argument("--samples", type=int, default=GENERATED_SAMPLES, help="of generated models")
    parser.add_argument("--tools", nargs="+", help="default: all that are installed")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    tried = {tool: one for tool, one in quantizers().items() if tool in (arguments.tools or quantizers())}
    print(f"{'SQNR, dB':12}{''.join(f'{tool:>9}' for tool in tried)}{'to best':>9}   CPU s, in this order")
    rows: list[dict[str, Result]] = []
    for name in arguments.models or [*FLOAT_MODELS, *GENERATED]:
        with tempfile.TemporaryDirectory() as folder:
            what = task(name, arguments.folds, arguments.seed, arguments.samples, Path(folder))
            rows.append(compare(name, what, tried, Path(folder)))
    for tool in tried:
        gains = [row["ccml"].db - row[tool].db for row in rows if not (row["ccml"].failed or row[tool].failed)]
        if tool != "ccml" and gains:
            print(f"over {tool}: mean {np.mean(gains):+.2f} dB, least {min(gains):+.2f} dB")


if __name__ == "__main__":
    main()
