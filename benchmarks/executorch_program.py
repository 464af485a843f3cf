"""A program of ExecuTorch from an ONNX model, by PyTorch: ``executorch_program.py MODEL.onnx PROGRAM.pte``.

It runs in ExecuTorch's environment. XNNPACK computes what it can, as in ExecuTorch's own examples for CPUs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from onnx2torch import convert


def main() -> None:
    model, program = Path(sys.argv[1]), Path(sys.argv[2])
    graph = onnx.load(model).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value.type.tensor_type.shape.dim for value in graph.input if value.name not in constants]
    shapes = [[dim.dim_value for dim in dims] for dims in inputs]
    exported = torch.export.export(convert(str(model)).eval(), tuple(torch.zeros(shape) for shape in shapes))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    program.write_bytes(lowered.to_executorch().buffer)


if __name__ == "__main__":
    main()
