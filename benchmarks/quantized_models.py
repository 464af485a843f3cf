"""Compares integer inference with ONNX Runtime and with the ONNX reference, kernel by kernel and end to end.

    python benchmarks/quantized_models.py                    # all of the model set
    python benchmarks/quantized_models.py kws ic --samples 8 --reference

The float models are quantized by ONNX Runtime (QDQ, uint8 activations, int8 weights per channel) into a temporary
folder; the ``*_qdq_int8.onnx`` files of the model set are taken as they are. A QDQ model is cut at its QuantizeLinear
nodes: each piece, fed with the bytes of a real run, is a kernel that ONNX Runtime fuses (QLinearConv, QGemm, ...) or
computes in float, and that ccml integerizes. Printed are, by ONNX Runtime's kernel, how many values differ.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from ccml.frontend_onnx import import_model
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from onnx import helper, version_converter
from onnx.reference import ReferenceEvaluator
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
FLOAT_MODELS = {
    "kws": "mlperf_tiny_kws_dscnn",
    "ic": "mlperf_tiny_ic_resnet8",
    "vww": "mlperf_tiny_vww_mobilenetv1_025",
    "ad": "mlperf_tiny_ad_autoencoder",
    "wakeword": "mlperf_tiny_streaming_wakeword",
    "digits": "digits_cnn",
    "transformer": "transformer_2l_d64",
}
REFERENCE_OPSET = 21
"""onnx.reference knows DequantizeLinear from here on."""


@dataclass
class Tally:
    """What was compared of one kind of kernel."""

    kernels: set[str] = field(default_factory=set)
    values: int = 0
    differ: int = 0
    largest: int = 0
    reference_differs: int = 0

    def add(self, kernel: str, ours: np.ndarray, theirs: np.ndarray, reference: np.ndarray | None) -> None:
        gap = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        self.kernels.add(kernel)
        self.values += gap.size
        self.differ += int(np.count_nonzero(gap))
        self.largest = max(self.largest, int(gap.max(initial=0)))
        self.reference_differs += 0 if reference is None else int(np.count_nonzero(ours != reference))


# ---------------------------------------------------------------- models and data


class Samples(CalibrationDataReader):
    """The calibration data of a model, one sample at a time."""

    def __init__(self, name: str, arrays: Sequence[np.ndarray]) -> None:
        self._feeds = iter([{name: array} for array in arrays])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


def samples(stem: str) -> list[np.ndarray]:
    """Inputs with a batch dimension of 1."""
    file = MODELS / f"{stem.replace('digits_cnn', 'digits')}_calib.npz"
    return [array[np.newaxis] for array in np.load(file)["input"].astype(np.float32)]


def quantized_file(stem: str, folder: Path) -> Path:
    """The float model in uint8 QDQ form."""
    prepared, result = folder / f"{stem}_prepared.onnx", folder / f"{stem}_qdq_uint8.onnx"
    quant_pre_process(MODELS / f"{stem}.onnx", prepared, skip_symbolic_shape=True)
    name = onnx.load(prepared).graph.input[0].name
    quantize_static(
        prepared, result, Samples(name, samples(stem)), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
    )  # fmt: skip
    return result


def bound_to_one(model: onnx.ModelProto) -> onnx.ModelProto:
    """Symbolic dimensions become 1."""
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = 1
    return onnx.shape_inference.infer_shapes(model)


# ---------------------------------------------------------------- kernels


@dataclass(frozen=True)
class Piece:
    """A part of a QDQ model from quantized tensors to a quantized tensor."""

    model: onnx.ModelProto
    output: str


def pieces(model: onnx.ModelProto) -> Iterator[Piece]:
    """One for each QuantizeLinear that does not read an input of the model."""
    producers = {name: node for node in model.graph.node for name in node.output}
    shapes = {value.name: value.type.tensor_type.shape for value in model.graph.value_info}
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    for last in model.graph.node:
        if last.op_type != "QuantizeLinear":
            continue
        inside, borders, free = _upstream(last, producers, initializers)
        if free or not borders or last.output[0] not in shapes:
            continue
        used = {name for node in inside for name in node.input}
        kept = [tensor for name, tensor in initializers.items() if name in used]
        values = [_value_info(name, producers[name], shapes[name], initializers) for name in borders]
        output = _value_info(last.output[0], last, shapes[last.output[0]], initializers)
        ordered = [node for node in model.graph.node if any(node is other for other in inside)]
        graph = helper.make_graph(ordered, "piece", values, [output], kept)
        opsets = [opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
        yield Piece(helper.make_model(graph, opset_imports=opsets, ir_version=model.ir_version), last.output[0])


def _upstream(
    last: onnx.NodeProto, producers: dict[str, onnx.NodeProto], initializers: dict[str, onnx.TensorProto]
) -> tuple[list[onnx.NodeProto], list[str], bool]:
    """The nodes from the quantized tensors before ``last`` on, those tensors, and whether they read a float input."""
    inside, borders, free, waiting = [last], [], False, list(last.input)
    while waiting:
        name = waiting.pop()
        node = producers.get(name)
        if node is None:
            free |= bool(name) and name not in initializers
        elif node.op_type == "QuantizeLinear" and node is not last:
            borders += [] if name in borders else [name]
        elif not any(node is other for other in inside):
            inside.append(node)
            waiting += node.input
    return inside, borders, free


def _value_info(
    name: str, quantize: onnx.NodeProto, shape: onnx.TensorShapeProto, initializers: dict[str, onnx.TensorProto]
) -> onnx.ValueInfoProto:
    extents = [dim.dim_value for dim in shape.dim]
    return helper.make_tensor_value_info(name, initializers[quantize.input[2]].data_type, extents)


def session(model: onnx.ModelProto, optimized: Path | None = None, level: str = "ALL") -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """``model`` with some inner tensors among its outputs."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    known = {value.name for value in shown.graph.output}
    shown.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in known)
    return shown


def quantized_tensors(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of all QuantizeLinear nodes of one run."""
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    return dict(zip(names, session(with_outputs(model, names), level="BASIC").run(names, feeds)))


def kernel_name(optimized: Path) -> str:
    """What ONNX Runtime made of a piece."""
    skipped = ("DequantizeLinear", "QuantizeLinear", "Transpose", "Reshape", "Squeeze", "Unsqueeze")
    found = [node.op_type for node in onnx.load(optimized).graph.node]
    return "+".join(op for op in found if op not in skipped) or "+".join(found)


def compare_kernels(model: onnx.ModelProto, runs: list[dict[str, np.ndarray]], reference: bool) -> dict[str, Tally]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    with tempfile.TemporaryDirectory() as folder:
        for piece in pieces(model):
            optimized = Path(folder) / "piece.onnx"
            theirs, ours = session(piece.model, optimized, "EXTENDED"), optimize(import_model(piece.model))
            tally = tallies[kernel_name(optimized)]
            for tensors in runs:
                feeds = {value.name: tensors[value.name] for value in piece.model.graph.input}
                expected = theirs.run(None, feeds)[0]
                wanted = _by_reference(piece.model, feeds) if reference else None
                tally.add(piece.output, evaluate_graph(ours, feeds)[piece.output], expected, wanted)
    return tallies


def _by_reference(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    newer = version_converter.convert_version(model, REFERENCE_OPSET)
    (result,) = ReferenceEvaluator(newer).run(None, feeds)
    return np.asarray(result)


# ---------------------------------------------------------------- end to end


def scores_tensor(model: onnx.ModelProto) -> str:
    """The last quantized tensor, before a final Softmax if there is one."""
    quantized = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    producers = {name: node for node in model.graph.node for name in node.output}
    last = quantized[-1]
    if (before := producers.get(last.input[0])) is not None and before.op_type == "Softmax":
        last = producers[producers[before.input[0]].input[0]]
    return last.output[0]


def compare_end_to_end(model: onnx.ModelProto, inputs: list[np.ndarray]) -> Tally:
    """The scores of whole runs, with all of ONNX Runtime's optimizations."""
    steps: dict[str, Graph] = {}
    optimize(import_model(model), dump=steps.__setitem__)
    graph = next(value for name, value in steps.items() if name.endswith("integerize"))
    scores, tally = scores_tensor(model), Tally()
    theirs = session(with_outputs(model, [scores]))
    for array in inputs:
        feeds = {model.graph.input[0].name: array}
        tally.add(scores, evaluate_graph(graph, feeds)[scores], theirs.run([scores], feeds)[0], None)
    return tally


def report(title: str, file: Path, inputs: list[np.ndarray], reference: bool) -> None:
    model = bound_to_one(onnx.load(file))
    name = model.graph.input[0].name
    runs = [quantized_tensors(model, {name: array}) for array in inputs]
    print(f"\n{title}, {len(inputs)} inputs")
    for kernel, tally in sorted(compare_kernels(model, runs, reference).items()):
        line = f"  {kernel:30.30} {len(tally.kernels):3} kernels {tally.values:9} values, {tally.differ:6} differ"
        against = f", {tally.reference_differs} from onnx.reference" if reference else ""
        print(f"{line} by at most {tally.largest}{against}")
    tally = compare_end_to_end(model, inputs)
    print(f"  end to end, before Softmax: {tally.values} values, {tally.differ} differ by at most {tally.largest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *FLOAT_MODELS], help="default: all")
    parser.add_argument("--samples", type=int, default=4, help="inputs of each model")
    parser.add_argument("--reference", action="store_true", help="compare with onnx.reference as well (slow)")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        for short in options.models or FLOAT_MODELS:
            stem = FLOAT_MODELS[short]
            inputs = samples(stem)[: options.samples]
            report(f"{stem}, uint8", quantized_file(stem, Path(folder)), inputs, options.reference)
            if (given := MODELS / f"{stem}_qdq_int8.onnx").is_file():
                report(f"{stem}, int8 as given", given, inputs, options.reference)


if __name__ == "__main__":
    main()
