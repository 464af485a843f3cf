"""Instructions and estimated cycles of single int8 layers on an emulated Cortex-M, per multiply-accumulate or output.

    python benchmarks/cortexm_layers.py [--cpu m4] [--route c] [--only PART ...] [--bench ../shared/cortexm]
                                        [--cache quantized_layers] [--optimize balanced] [--profile]

Each layer is an ONNX model of its own with seeded weights, quantized by ccml with integer inputs and outputs, built
with ``run_qemu.py`` of the Cortex-M bench (-O 3; -O s for ``--optimize size``). RAM is the arena with inputs and
outputs in it (which may overlap); behind it stands what these take. ``WRONG BYTES`` marks outputs that are not those of
the host, ``float`` layers that the quantizer left so. ``--only`` selects by parts of names. Quantized layers are kept
in the ``--cache`` folder, those of each state of the quantizer by themselves.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import onnx
from ccml.driver import Goal, Optimize
from ccml.ir.program import Program
from ccml.targets import select
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cortexm_models import CORES, ROOT, measure, quantizer_state

SAMPLES = 16
OPSET = 17


@dataclass(frozen=True)
class Layer:
    """One ONNX operator: shapes of its activations and of its weights, in the order of its inputs, and its attributes.

    ``images`` are activations [n, channels, ...], which the model has channels last. ``extra`` are inputs behind the
    weights. ``reach`` has the standard deviation of each activation (default: 1).
    """

    op: str
    inputs: Sequence[Sequence[int]]
    weights: Sequence[Sequence[int]] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    images: bool = False
    extra: Sequence[np.ndarray | None] = ()
    reach: Sequence[float] = ()

    @property
    def given(self) -> list[tuple[int, ...]]:
        """The shapes of the model's inputs."""
        return [(s[0], *s[2:], s[1]) if self.images else tuple(s) for s in self.inputs]

    def model(self) -> onnx.ModelProto:
        rng, rank = np.random.default_rng(1), len(self.inputs[0])
        constants = {}
        for n, shape in enumerate(self.weights):
            spread = 1 / np.sqrt(prod(shape[1:])) if len(shape) > 1 else 0.1
            constants[f"w{n}"] = (rng.standard_normal(shape) * spread).astype(np.float32)
        constants |= {f"c{n}": array for n, array in enumerate(self.extra) if array is not None}
        others = ["" if array is None else f"c{n}" for n, array in enumerate(self.extra)]
        names = [f"x{n}" for n in range(len(self.inputs))]
        operands = [*names, *(f"w{n}" for n in range(len(self.weights))), *others]
        if self.images:
            operands = [f"{name}_first" if name in names else name for name in operands]
            first, last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
            nodes = [helper.make_node("Transpose", [name], [f"{name}_first"], perm=first) for name in names]
            nodes.append(helper.make_node(self.op, operands, ["y_first"], name="layer", **self.attrs))
            nodes.append(helper.make_node("Transpose", ["y_first"], ["y"], perm=last))
        else:
            nodes = [helper.make_node(self.op, operands, ["y"], name="layer", **self.attrs)]
        graph = helper.make_graph(
            nodes,
            "layer",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, self.given)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)

    def samples(self) -> dict[str, np.ndarray]:
        """Typical inputs, along a new first axis."""
        rng, reach = np.random.default_rng(2), self.reach or [1.0] * len(self.inputs)
        return {
            f"x{n}": (scale * rng.standard_normal((SAMPLES, *shape))).astype(np.float32)
            for n, (shape, scale) in enumerate(zip(self.given, reach, strict=True))
        }


def conv(
    x: Sequence[int],
    out: int,
    kernel: Sequence[int],
    *,
    stride: int = 1,
    group: int = 1,
    pad: Sequence[int] | None = None,
    dilation: int = 1,
    transposed: bool = False,
) -> Layer:
    """A convolution with bias of an input [channels, ...]; the default padding is half the kernel."""
    channels, rank = x[0], len(kernel)
    half = [k // 2 * dilation for k in kernel]
    same = [*half, *half]
    shape = (channels, out // group, *kernel) if transposed else (out, channels // group, *kernel)
    attrs: dict[str, Any] = {"strides": [stride] * rank, "pads": same if pad is None else list(pad), "group": group}
    if dilation != 1:
        attrs["dilations"] = [dilation] * rank
    return Layer("ConvTranspose" if transposed else "Conv", [(1, *x)], [shape, (out,)], attrs, images=True)


def resize(mode: str) -> Layer:
    scales = np.array([1, 1, 2, 2], np.float32)
    return Layer("Resize", [(1, 32, 16, 16)], attrs={"mode": mode}, images=True, extra=[None, scales])


def recurrent(op: str, steps: int, size: int, hidden: int) -> Layer:
    """One layer in one direction, its weights and biases."""
    gates = {"LSTM": 4, "GRU": 3}[op] * hidden
    attrs: dict[str, Any] = {"hidden_size": hidden}
    if op == "GRU":
        attrs["linear_before_reset"] = 1
    return Layer(op, [(steps, 1, size)], [(1, gates, size), (1, gates, hidden), (1, 2 * gates)], attrs)


def average(kernel: int, stride: int) -> Layer:
    edge = 0 if stride > 1 else kernel // 2
    attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [edge] * 4}
    return Layer("AveragePool", [(1, 32, 24, 24)], attrs=attrs, images=True)


TENSORS = [(1, 16, 16, 32)] * 2

LAYERS: dict[str, Callable[[], Layer]] = {
    # Layers of the MLPerf Tiny models
    "conv 10x4 s2 49x10x1-64": lambda: conv((1, 49, 10), 64, (10, 4), stride=2, pad=(4, 1, 5, 1)),
    "conv 1x1 25x5x64-64": lambda: conv((64, 25, 5), 64, (1, 1)),
    "conv 3x3 32x32x3-16": lambda: conv((3, 32, 32), 16, (3, 3)),
    "conv 3x3 32x32x16-16": lambda: conv((16, 32, 32), 16, (3, 3)),
    "conv 3x3 8x8x64-64": lambda: conv((64, 8, 8), 64, (3, 3)),
    "conv 3x3 s2 96x96x3-8": lambda: conv((3, 96, 96), 8, (3, 3), stride=2, pad=(0, 0, 1, 1)),
    "conv 1x1 48x48x8-16": lambda: conv((8, 48, 48), 16, (1, 1)),
    "conv 1x1 24x24x32-32": lambda: conv((32, 24, 24), 32, (1, 1)),
    "conv 1x1 6x6x128-128": lambda: conv((128, 6, 6), 128, (1, 1)),
    "conv 1x1 3x3x256-256": lambda: conv((256, 3, 3), 256, (1, 1)),
    "dw 3x3 48x48x8": lambda: conv((8, 48, 48), 8, (3, 3), group=8),
    "dw 3x3 s2 24x24x32": lambda: conv((32, 24, 24), 32, (3, 3), stride=2, group=32, pad=(0, 0, 1, 1)),
    "dw 3x3 6x6x128": lambda: conv((128, 6, 6), 128, (3, 3), group=128),
    "fc 640-128": lambda: Layer("Gemm", [(1, 640)], [(128, 640), (128,)], {"transB": 1}),
    # Depthwise
    "dw 3x3 s2 14x14x32": lambda: conv((32, 14, 14), 32, (3, 3), stride=2, group=32),
    "dw 5x5 24x24x32": lambda: conv((32, 24, 24), 32, (5, 5), group=32),
    "dw 5x5 7x7x64": lambda: conv((64, 7, 7), 64, (5, 5), group=64),
    "dw 5x5 s2 7x7x240": lambda: conv((240, 7, 7), 240, (5, 5), stride=2, group=240),
    "dw 5x5 s2 14x14x240": lambda: conv((240, 14, 14), 240, (5, 5), stride=2, group=240),
    "dw 3x3 d2 24x24x32": lambda: conv((32, 24, 24), 32, (3, 3), group=32, dilation=2),
    "dw 1d k9 98x40": lambda: conv((40, 98), 40, (9,), group=40),
    "dw 1d k3 98x64": lambda: conv((64, 98), 64, (3,), group=64),
    "dw 3x3 32x32x3": lambda: conv((3, 32, 32), 3, (3, 3), group=3),
    "dw 3x3 16x16x16 m2": lambda: conv((16, 16, 16), 32, (3, 3), group=16),
    "dw 3x3 s2 16x16x16 m2": lambda: conv((16, 16, 16), 32, (3, 3), stride=2, group=16),
    # Products of two activations
    "matmul 64x64x64": lambda: Layer("MatMul", [(64, 64), (64, 64)]),
    "matmul 4 heads 32x16x32": lambda: Layer("MatMul", [(1, 4, 32, 16), (1, 4, 16, 32)]),
    "matmul 4 heads 32x32x16": lambda: Layer("MatMul", [(1, 4, 32, 32), (1, 4, 32, 16)]),
    "matmul 10x7x13": lambda: Layer("MatMul", [(10, 7), (7, 13)]),
    # Transposed and grouped convolutions, few channels
    "convt 2x2 s2 8x8x32-16": lambda: conv((32, 8, 8), 16, (2, 2), stride=2, pad=[0] * 4, transposed=True),
    "convt 3x3 s2 8x8x32-16": lambda: conv((32, 8, 8), 16, (3, 3), stride=2, transposed=True),
    "grouped 3x3 16x16x32 g2": lambda: conv((32, 16, 16), 32, (3, 3), group=2),
    "grouped 3x3 16x16x32 g4": lambda: conv((32, 16, 16), 32, (3, 3), group=4),
    "grouped 3x3 16x16x32 g8": lambda: conv((32, 16, 16), 32, (3, 3), group=8),
    "grouped 3x3 14x14x128 g32": lambda: conv((128, 14, 14), 128, (3, 3), group=32),
    "grouped 1x1 16x16x48 g3": lambda: conv((48, 16, 16), 48, (1, 1), group=3),
    "grouped 1x1 16x16x64 g4": lambda: conv((64, 16, 16), 64, (1, 1), group=4),
    "grouped 1x1 16x16x64 g8": lambda: conv((64, 16, 16), 64, (1, 1), group=8),
    "conv 1x1 32x32x3-3": lambda: conv((3, 32, 32), 3, (1, 1)),
    "conv 3x3 32x32x1-1": lambda: conv((1, 32, 32), 1, (3, 3)),
    # Element by element, windows
    "mul 16x16x32": lambda: Layer("Mul", TENSORS, reach=[1, 2]),
    "add 16x16x32": lambda: Layer("Add", TENSORS, reach=[1, 2]),
    "concat, rescaled": lambda: Layer("Concat", TENSORS, attrs={"axis": -1}, reach=[1, 2]),
    "resize nearest 16x16x32": lambda: resize("nearest"),
    "resize linear 16x16x32": lambda: resize("linear"),
    "average 2x2 s2 24x24x32": lambda: average(2, 2),
    "average 3x3 24x24x32": lambda: average(3, 1),
    "softmax 64x64": lambda: Layer("Softmax", [(64, 64)], attrs={"axis": -1}, reach=[3]),
    "gru 50x32-64": lambda: recurrent("GRU", 50, 32, 64),
    "gru 200x64-128": lambda: recurrent("GRU", 200, 64, 128),
    "lstm 50x32-64": lambda: recurrent("LSTM", 50, 32, 64),
    "lstm 200x64-128": lambda: recurrent("LSTM", 200, 64, 128),
    "layer norm 64x64": lambda: Layer("LayerNormalization", [(64, 64)], [(64,), (64,)], {"axis": -1}),
}


def quantized(name: str, folder: Path) -> Path:
    """The layer's QDQ file, made where the cache has none by this quantizer."""
    found = folder / quantizer_state() / f"{''.join(c if c.isalnum() else '_' for c in name)}_int8.onnx"
    if not found.exists():
        layer = LAYERS[name]()
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            model, samples = Path(place) / "layer.onnx", Path(place) / "samples.npz"
            onnx.save(layer.model(), model)
            np.savez(samples, **layer.samples())
            ccml.quantize(model, ccml.Quantization(samples, ccml.QuantizeOptions(integer_io=True)), found)
    return found


def interface_bytes(program: Program) -> int:
    """Of inputs and outputs."""
    return sum(each.type.nbytes for each in (*program.inputs, *program.outputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names; default: all layers")
    parser.add_argument("--cpu", default="m4", choices=CORES)
    parser.add_argument("--route", nargs="+", default=["c"], choices=("c", "llvm"))
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "cortexm")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "ccml_quantized_layers")
    parser.add_argument("--optimize", default="balanced", choices=[item.value for item in Optimize])
    parser.add_argument("--profile", action="store_true", help="show the functions and instructions that take most")
    args = parser.parse_args()
    sys.path.insert(0, str(args.bench))
    machine = select(CORES[args.cpu])
    print(f"{'layer':26s} route     count per  instr. cycles  stack  flash    RAM   in+out")
    for name in LAYERS:
        if args.only and not any(part in name for part in args.only):
            continue
        for route in args.route:
            found, compiled = measure(
                quantized(name, args.cache), machine, route, args.cpu, Goal(Optimize(args.optimize))
            )
            program = compiled.program
            outputs = sum(each.type.size for each in program.outputs)
            count, unit = (program.macs, "MAC") if program.macs else (outputs, "out")
            estimate = found["profile"]["est_cycles"]
            cycles = (estimate["cycles"] if estimate else 0) / count
            marks = ["   WRONG BYTES"] * (not found["match"])
            marks += ["   float"] * any(each.type.dtype.is_float for each in (*program.inputs, *program.outputs))
            print(
                f"{name:26s} {route:5s} {count:9d} {unit} {found['instructions'] / count:7.3f} "
                f"{cycles:6.3f} {found['stack']:6d} {found['size']['flash']:6d} "
                f"{program.plan.pools[0].ram:6d} {interface_bytes(program):8d}{''.join(marks)}",
                flush=True,
            )
            if args.profile:
                for kind in ("top_functions", "top_mnemonics"):
                    print("   ", ", ".join(f"{what} {n:,d}" for what, n in found["profile"][kind].items()))


if __name__ == "__main__":
    main()
