"""ccml as a backend of ONNX: the interface of ``onnx.backend.base``.

>>> from ccml import onnx_backend
>>> onnx_backend.prepare(model).run([x])

:class:`JitBackend`, whose functions are those of this module, compiles models into this process; :class:`CBackend`
compiles their C sources with the system's compiler. Both run on the device ``CPU`` and know no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .emit_llvm.jit import JitModel, host_machine
from .errors import CcmlError, ErrorCode
from .frontend_onnx import import_model
from .frontend_onnx.dims import has_open_dimensions
from .frontend_onnx.string_tables import DEFAULT_BOUND
from .frontend_onnx.versions import NEWEST_OPSET
from .ir.program import Program
from .ir.strings import longest
from .passes.pipeline import optimize
from .program.build import lower_graph
from .targets import Machine
from .verification.c_model import CModel

Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


class CompiledModel(BackendRep):
    """A model, compiled when its inputs' shapes are known: at once where the model says them, or else at a run.

    A run with other shapes, or with longer strings, compiles anew; the last one is kept.
    """

    def __init__(self, model: onnx.ModelProto, build: Callable[[Program, Machine], Run]) -> None:
        """Raises what :func:`ccml.frontend_onnx.import_model` raises, where all extents are known."""
        self._model, self._build = model, build
        initializers = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in initializers]
        self._inputs = [value.name for value in inputs]
        self._outputs = [value.name for value in model.graph.output]
        self._strings = [value.name for value in inputs if value.type.tensor_type.elem_type == onnx.TensorProto.STRING]
        self._bounds: dict[str, int] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._run: Run | None = None
        self._is_open = any(map(has_open_dimensions, inputs))
        if not self._is_open:
            self._compile({})

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order, also by their names, for inputs in the model's order or by their names.

        Raises ``BAD_INPUT`` where they do not fit the model, ``UNSUPPORTED_FEATURE`` where one is no array.
        """
        feeds = self._feeds(inputs)
        shapes = {name: array.shape for name, array in feeds.items()}
        longer = self._longer(feeds)
        if self._run is None or longer or (self._is_open and shapes != self._shapes):
            self._compile(shapes)
        assert self._run is not None
        results = self._run(feeds)
        named = namedtupledict("Outputs", self._outputs)
        return named(*(results[name] for name in self._outputs))

    def _longer(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """Whether strings are longer than what was compiled; notes their lengths."""
        sizes = {name: longest(feeds[name], name) for name in self._strings if name in feeds}
        known = {name: self._bounds.get(name, DEFAULT_BOUND) for name in sizes}
        self._bounds |= {name: size for name, size in sizes.items() if size > known[name]}
        return any(size > known[name] for name, size in sizes.items())

    def _compile(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        machine = host_machine()
        with np.errstate(all="ignore"):
            imported = import_model(self._model, shapes=shapes, bounds=self._bounds)
            graph = optimize(imported, signed_bytes=machine.cpu.signed_bytes)
        self._run, self._shapes = self._build(lower_graph(graph, machine), machine), dict(shapes)

    def _feeds(self, inputs: Any) -> dict[str, np.ndarray]:
        if isinstance(inputs, Mapping):
            return {name: np.asarray(array) for name, array in inputs.items()}
        given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        if len(given) != len(self._inputs):
            reason = f"{len(given)} arrays for {len(self._inputs)} inputs: {', '.join(self._inputs)}"
            raise CcmlError(ErrorCode.BAD_INPUT, reason)
        for name, value in zip(self._inputs, given):
            if value is None or isinstance(value, (list, tuple)):
                reason = "this input is no array; only tensors are supported"
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=name)
        return dict(zip(self._inputs, map(np.asarray, given)))


class JitBackend(Backend):
    """Models compiled into this process by LLVM."""

    @classmethod
    def build(cls, program: Program, machine: Machine) -> Run:
        """What runs ``program`` on named arrays."""
        return JitModel(program, machine).run

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> CompiledModel:
        """Compiles ``model``. Raises ``CcmlError``: ``BAD_OPTION`` for another device, or what is wrong with it."""
        if not cls.supports_device(device):
            raise CcmlError(ErrorCode.BAD_OPTION, f"there is no device {device}", hint="the device is CPU")
        return CompiledModel(model, cls.build)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None, **kwargs: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The outputs of one node for arrays of its operands, by the newest operator set or ``opset_version``."""
        present = dict(zip((name for name in node.input if name), map(np.asarray, inputs)))
        infos = [_described(name, array.dtype, array.shape) for name, array in present.items()]
        outputs = [name for name in node.output if name]
        if outputs_info is None:
            results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
        else:
            results = [_described(name, dtype, shape) for name, (dtype, shape) in zip(outputs, outputs_info)]
        graph = helper.make_graph([node], "node", infos, results)
        domains = {"": kwargs.get("opset_version", NEWEST_OPSET), **({node.domain: 1} if node.domain else {})}
        opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        return cls.prepare(helper.make_model(graph, opset_imports=opsets), device).run(present)


class CBackend(JitBackend):
    """Models compiled as C99 by ``compiler``, or where that is ``None`` by the first of cc, gcc and clang."""

    compiler: ClassVar[str | None] = None

    @classmethod
    def build(cls, program: Program, machine: Machine) -> Run:
        return CModel(program, machine, cls.compiler).run


def _described(name: str, dtype: np.dtype, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


prepare = JitBackend.prepare
run_model = JitBackend.run_model
run_node = JitBackend.run_node
supports_device = JitBackend.supports_device
is_compatible = JitBackend.is_compatible
