"""Every use of a recurrent layer that exporters make, on every target, against ONNX Runtime.

The matrix: operator, outputs that are used, initial state, length, direction, float or quantized, and what stands
behind the outputs. ``python -m tests.recurrent.matrix`` runs all of it on all targets, ``--part 2/8`` an eighth of the
cases, ``--machines 3`` each case on three targets in turn; the tests run a slice.

A program for another machine runs in this process: its kernels are scheduled and its memory is planned as for that
machine, and LLVM compiles them for this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from time import perf_counter
from zlib import crc32

import click
import numpy as np
import onnx
import onnxruntime
from ccml.driver import Source, import_source, run_passes
from ccml.emit_llvm.jit import JitModel
from ccml.errors import CcmlError
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.quantization.quantize import quantize_graph
from ccml.samples import Batching, Samples
from ccml.targets import Machine
from onnx import TensorProto, helper, numpy_helper

from tests.machines_here import distinct_machines, on_this_machine

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
OUTPUTS = {"LSTM": ("y", "y_h", "y_c"), "GRU": ("y", "y_h"), "RNN": ("y", "y_h")}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
LENGTHS = (1, 10, 49)
TAILS = ("nothing", "elementwise", "squeeze", "transpose")
ELEMENTWISE = ("Relu", "Tanh", "Add", "Mul")
FEATURES, HIDDEN = 3, 5
TOLERANCE = 2e-5
"""Relative to 1, which bounds states and outputs: float32 with other orders of sums, over up to 49 steps."""
QUANTIZED_TOLERANCE = 0.02
"""Between machines: a rounding that falls the other way, 1/127, and what the next steps make of it."""
QUANTIZED_ERROR = 0.25
"""What int8 may cost, as an absolute error: enough to tell another output, step or direction from the right one."""


@dataclass(frozen=True)
class Case:
    op: str
    outputs: tuple[str, ...]
    state: bool
    length: int
    direction: str
    quantized: bool
    tail: str

    def __str__(self) -> str:
        state = "state" if self.state else "zeros"
        kind = "int8" if self.quantized else "fp32"
        return f"{self.op}-{'+'.join(self.outputs)}-{state}-{self.length}-{self.direction}-{kind}-{self.tail}"

    @property
    def seed(self) -> int:
        return crc32(str(self).encode())

    @property
    def batch(self) -> int:
        return 1 if self.tail == "squeeze" else 2

    @cached_property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        states = ("h", "c") if self.op == "LSTM" else ("h",)
        shape = (DIRECTIONS[self.direction], self.batch, HIDDEN)
        return {"x": (self.length, self.batch, FEATURES)} | dict.fromkeys(states if self.state else (), shape)

    def model(self) -> onnx.ModelProto:
        """The layer with constant weights, and the tail behind each of the used outputs."""
        rng, dirs, gates = np.random.default_rng(self.seed), DIRECTIONS[self.direction], GATES[self.op] * HIDDEN
        shapes = {"w": (dirs, gates, FEATURES), "r": (dirs, gates, HIDDEN), "b": (dirs, 2 * gates)}
        constants = {name: rng.uniform(-0.6, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}
        states = [name for name in self.inputs if name != "x"]
        operands = ["x", "w", "r", "b", *(["", *states] if states else [])]
        results = [name if name in self.outputs else "" for name in OUTPUTS[self.op]]
        nodes = [helper.make_node(self.op, operands, results, hidden_size=HIDDEN, direction=self.direction)]
        for number, name in enumerate(self.outputs):
            nodes += self._tail(name, constants, number + self.seed)
        ends = [f"{name}_end" if self.tail != "nothing" else name for name in self.outputs]
        given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in self.inputs.items()]
        made = [helper.make_value_info(name, helper.make_tensor_type_proto(TensorProto.FLOAT, None)) for name in ends]
        arrays = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "g", given, made, arrays)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)

    def _tail(self, name: str, constants: dict[str, np.ndarray], number: int) -> list[onnx.NodeProto]:
        if self.tail == "nothing":
            return []
        moves, source = [], name
        if self.tail == "squeeze":
            batch_axis = 2 if name == "y" else 1
            constants[f"{name}_axes"] = np.array([batch_axis], np.int64)
            moves = [helper.make_node("Squeeze", [name, f"{name}_axes"], [f"{name}_moved"])]
        elif self.tail == "transpose":
            perm = (2, 1, 0, 3) if name == "y" else (1, 0, 2)
            moves = [helper.make_node("Transpose", [name], [f"{name}_moved"], perm=perm)]
        source = f"{name}_moved" if moves else name
        op = ELEMENTWISE[number % len(ELEMENTWISE)]
        constants[f"{name}_operand"] = np.linspace(-0.5, 0.5, HIDDEN, dtype=np.float32)
        operands = [source, *([f"{name}_operand"] if op in ("Add", "Mul") else [])]
        return [*moves, helper.make_node(op, operands, [f"{name}_end"])]

    def feeds(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(self.seed + 1)
        return {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in self.inputs.items()}


def all_cases() -> Iterator[Case]:
    for op, state, length, direction, quantized, tail in product(
        GATES, (False, True), LENGTHS, DIRECTIONS, (False, True), TAILS
    ):
        for count in range(1, len(OUTPUTS[op]) + 1):
            for used in combinations(OUTPUTS[op], count):
                yield Case(op, used, state, length, direction, quantized, tail)


# ---------------------------------------------------------------- one case


def failures(case: Case, machines: Sequence[Machine]) -> list[str]:
    """What is wrong with the case, on each of the ``machines`` where something is."""
    try:
        prepared = _prepare(case)
    except Exception as problem:
        return [f"{case}: {_described(problem)}"]
    return [message for machine in machines if (message := _failure(case, prepared, machine))]


@dataclass(frozen=True)
class _Prepared:
    source: Source
    feeds: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]


def _prepare(case: Case) -> _Prepared:
    model, feeds = case.model(), case.feeds()
    source = import_source(Path("layer.onnx"), model)
    expected = onnxruntime_results(model, feeds)
    if case.quantized:
        quantized = quantize_graph(source.graph, _calibration(case, feeds)).graph
        meaning = evaluate_graph(quantized, feeds)
        for name, wanted in expected.items():
            worst = float(np.abs(meaning[name] - wanted).max())
            assert worst <= QUANTIZED_ERROR, f"{name}: quantized, the meaning is off by {worst:.3f}"
        expected = {name: meaning[name] for name in expected}
        source = Source(source.path, source.options, source.model, quantized)
    return _Prepared(source, feeds, expected)


def _calibration(case: Case, feeds: dict[str, np.ndarray]) -> Samples:
    rng = np.random.default_rng(case.seed + 2)
    others = {name: rng.uniform(-1, 1, (3, *array.shape)).astype(np.float32) for name, array in feeds.items()}
    stacked = {name: np.concatenate([array[None], others[name]]) for name, array in feeds.items()}
    return Samples(stacked, {}, 4, Batching.ADDED)


def onnxruntime_results(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs by ONNX Runtime, without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def _failure(case: Case, prepared: _Prepared, machine: Machine) -> str | None:
    where = f"{case} on {machine.name} {machine.cpu.name}"
    here = on_this_machine(machine)
    try:
        optimized: Graph = run_passes(prepared.source, machine=machine)
        program = lower_graph(optimized, here)
        found = JitModel(program, here).run(prepared.feeds)
    except Exception as problem:
        return f"{where}: {_described(problem)}"
    tolerance = QUANTIZED_TOLERANCE if case.quantized else TOLERANCE
    for name, expected in prepared.expected.items():
        if found[name].shape != expected.shape:
            return f"{where}: {name} has the shape {found[name].shape} instead of {expected.shape}"
        worst = float(np.abs(found[name] - expected).max())
        if not worst <= tolerance:
            return f"{where}: {name} is off by {worst:.2g}"
    return None


def _described(problem: Exception) -> str:
    text = str(problem) if isinstance(problem, CcmlError) else repr(problem)
    return " ".join(text.split())[:300]


# ---------------------------------------------------------------- all


def in_turn(machines: Sequence[Machine], number: int, count: int | None) -> list[Machine]:
    """``count`` of the machines (default: all) for case ``number``; the next case gets those that follow."""
    chosen = len(machines) if count is None else min(count, len(machines))
    return [machines[(number * chosen + step) % len(machines)] for step in range(chosen)]


@click.command()
@click.option("--part", default="1/1", help="Which of how many equal parts to run.")
@click.option("--target", "targets", multiple=True, help="Only these targets.")
@click.option("--machines", "count", type=int, help="So many targets for each case, others for the next.")
@click.option("--only", default="", help="Only cases whose name has this in it.")
def main(part: str, targets: Sequence[str], count: int | None, only: str) -> None:
    """Runs the matrix, prints every failure, and fails where there is one."""
    number, parts = (int(text) for text in part.split("/"))
    machines = [machine for machine in distinct_machines() if not targets or machine.name in targets]
    cases = [case for case in all_cases() if only in str(case)][number - 1 :: parts]
    start, failed = perf_counter(), 0
    for done, case in enumerate(cases, 1):
        for message in failures(case, in_turn(machines, done, count)):
            failed += 1
            click.echo(message)
        if done % 50 == 0:
            click.echo(f"{done} of {len(cases)} cases after {perf_counter() - start:.0f} s", err=True)
    click.echo(f"{len(cases)} cases on {len(machines)} machines: {failed} failures")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
