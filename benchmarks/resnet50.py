"""Builds ResNet-50 (He et al., 2015, the v1.5 variant) with seeded weights, and measures its compilation.

    python benchmarks/resnet50.py --build resnet50.onnx
    python benchmarks/resnet50.py --measure resnet50.onnx      # seconds and peak memory of `ccml compile`

25.6 million parameters; batch normalisation is kept as nodes so that the compiler has it to fold.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))


class Builder:
    """Nodes and initializers in the order in which layers are added."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(50)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def weights(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(self, op: str, inputs: list[str], name: str, **attrs: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attrs))
        return name

    def conv_bn(self, x: str, name: str, shape: tuple[int, int, int], stride: int = 1, relu: bool = True) -> str:
        """Convolution of ``shape`` (out, in, kernel), batch normalisation, and ReLU."""
        out, channels, kernel = shape
        scale = np.sqrt(2.0 / (channels * kernel * kernel))
        w = self.weights(f"{name}.w", self.rng.standard_normal((out, channels, kernel, kernel)) * scale)
        pad = kernel // 2
        y = self.node("Conv", [x, w], f"{name}.conv", strides=[stride] * 2, pads=[pad] * 4)
        norm = {"scale": self.rng.uniform(0.5, 1, out), "bias": self.rng.normal(0, 0.1, out)}
        norm |= {"mean": self.rng.normal(0, 0.1, out), "var": self.rng.uniform(0.8, 1.2, out)}
        parameters = [self.weights(f"{name}.{key}", value) for key, value in norm.items()]
        y = self.node("BatchNormalization", [y, *parameters], f"{name}.bn")
        return self.node("Relu", [y], f"{name}.relu") if relu else y

    def bottleneck(self, x: str, name: str, channels: int, width: int, stride: int) -> str:
        y = self.conv_bn(x, f"{name}.a", (width, channels, 1))
        y = self.conv_bn(y, f"{name}.b", (width, width, 3), stride)
        y = self.conv_bn(y, f"{name}.c", (4 * width, width, 1), relu=False)
        if stride != 1 or channels != 4 * width:
            x = self.conv_bn(x, f"{name}.down", (4 * width, channels, 1), stride, relu=False)
        return self.node("Relu", [self.node("Add", [y, x], f"{name}.add")], f"{name}.out")


def build() -> onnx.ModelProto:
    b = Builder()
    x = b.conv_bn("image", "stem", (64, 3, 7), 2)
    x = b.node("MaxPool", [x], "stem.pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (width, blocks) in enumerate(STAGES):
        for block in range(blocks):
            stride = 2 if block == 0 and stage else 1
            x = b.bottleneck(x, f"s{stage}.{block}", channels, width, stride)
            channels = 4 * width
    x = b.node("Flatten", [b.node("GlobalAveragePool", [x], "pool")], "flatten")
    w = b.weights("fc.w", b.rng.standard_normal((1000, 2048)) * 0.02)
    b.node("Gemm", [x, w, b.weights("fc.b", np.zeros(1000))], "logits", transB=1)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1000])
    graph = helper.make_graph(b.nodes, "resnet50", [image], [logits], b.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def measure(model: Path, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, "-m", "ccml", "compile", str(model), "--target", target, "-o", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"compile for {target}: {seconds:.1f} s, peak memory of the largest process {peak:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="FILE")
    parser.add_argument("--measure", type=Path, metavar="FILE")
    parser.add_argument("--target", default="x86")
    arguments = parser.parse_args()
    if arguments.build:
        onnx.save(build(), arguments.build)
    if arguments.measure:
        measure(arguments.measure, arguments.target)


if __name__ == "__main__":
    main()
