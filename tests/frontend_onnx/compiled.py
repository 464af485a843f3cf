"""Models of one operator, compiled for this machine and compared with what ONNX's reference says.

An operator stands alone, between pointwise operators, and between transposes: each becomes another kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.graphs import Operand, checked_import, model, value

Oracle = Callable[[onnx.ModelProto, Mapping[str, np.ndarray]], Sequence[np.ndarray]]


def compiled(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The model's outputs in order, computed by machine code."""
    graph = checked_import(proto)
    names = [output.name for output in proto.graph.output]
    results = JitModel(lower_graph(optimize(graph), host_machine())).run(feeds)
    return [results[name] for name in names]


def reference(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(result) for result in ReferenceEvaluator(proto).run(None, dict(feeds))]


def onnxruntime(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def crossed(
    op_type: str, arrays: Sequence[Operand | None], opset: int, frozen: Sequence[int] = (), domain: str = "",
    **attrs: Any,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:  # fmt: skip
    """A model with the operator alone, between pointwise operators and between transposes of its first operand.

    The operands with the ``frozen`` numbers are initializers. ``outputs`` is how many the node has.
    """
    count = attrs.pop("outputs", 1)
    given = {f"x{n}": np.asarray(array) for n, array in enumerate(arrays) if array is not None}
    constants = {name: array for name, array in given.items() if int(name[1:]) in frozen}
    feeds = {name: array for name, array in given.items() if name not in constants}
    first = given["x0"]
    feeds["x0t"] = np.ascontiguousarray(first.T)
    rest = ["" if array is None else f"x{n + 1}" for n, array in enumerate(arrays[1:])]
    nodes = [helper.make_node(_pointwise(first)[0], ["x0"] * _pointwise(first)[1], ["x0p"])]
    nodes.append(helper.make_node("Transpose", ["x0t"], ["x0b"]))
    outputs = []
    for stem, source in (("y", "x0"), ("p", "x0p"), ("t", "x0b")):
        made = [f"{stem}{n}" for n in range(count)]
        nodes.append(helper.make_node(op_type, [source, *rest], made, domain=domain, **attrs))
        outputs += made
    for n in range(count):
        nodes.append(helper.make_node("Mul", [f"p{n}", f"p{n}"], [f"q{n}"]))
        nodes.append(helper.make_node("Transpose", [f"t{n}"], [f"u{n}"]))
    proto_inputs = [value(n, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in feeds.items()]
    shown = [name.replace("p", "q").replace("t", "u") for name in outputs]
    if first.dtype == np.bool_:
        nodes = [node for node in nodes if node.op_type != "Mul"]
        shown = [name.replace("q", "p") for name in shown]
    return model(nodes, proto_inputs, shown, constants, opset, domains={domain: 1} if domain else None), feeds


def _pointwise(array: np.ndarray) -> tuple[str, int]:
    """An operator that changes elements of this type, and how many operands it has."""
    if array.dtype == np.bool_:
        return "Not", 1
    return ("Neg", 1) if array.dtype.kind in "if" else ("Add", 2)


def check_compiled(
    proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], oracle: Oracle = reference, rtol: float = 1e-5,
    atol: float = 1e-5,
) -> list[np.ndarray]:  # fmt: skip
    """Compiled code against the oracle; integers exactly."""
    results, expected = compiled(proto, feeds), oracle(proto, feeds)
    for output, result, wanted in zip(proto.graph.output, results, expected, strict=True):
        if wanted.dtype.kind in "OU":  # strings
            wanted = wanted.astype(np.str_)
            result = result.astype(wanted.dtype)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), output.name
        if result.dtype.kind == "f":
            wide = [array.astype(np.float64) for array in (result, wanted)]
            np.testing.assert_allclose(*wide, rtol=rtol, atol=atol, err_msg=output.name)
        else:
            np.testing.assert_array_equal(result, wanted, err_msg=output.name)
    return results


def check_node(
    op_type: str, arrays: Sequence[Operand | None], opset: int, frozen: Sequence[int] = (), oracle: Oracle = reference,
    rtol: float = 1e-5, atol: float = 1e-5, **attrs: Any,
) -> list[np.ndarray]:  # fmt: skip
    """The operator alone and between others, as :func:`crossed` builds it."""
    return check_compiled(*crossed(op_type, arrays, opset, frozen, **attrs), oracle, rtol, atol)
