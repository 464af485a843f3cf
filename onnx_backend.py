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

from .driver import preferred_bytes
from .emit_llvm.jit import JitModel, host_machine
from .errors import CcmlError, ErrorCode
from .frontend_onnx import TensorInterface, import_model, tensor_interface, with_constant_inputs
from .frontend_onnx.dims import has_open_dimensions
from .frontend_onnx.interface import Members, is_optional, is_sequence, only_tensors, with_tensor_inputs
from .frontend_onnx.string_tables import DEFAULT_BOUND
from .frontend_onnx.versions import NEWEST_OPSET
from .ir.program import Program
from .ir.strings import longest
from .passes.pipeline import optimize
from .program.build import lower_graph
from .record import record
from .targets import Machine
from .verification.c_model import CModel

Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


@record
class _Form:
    """What of a run's inputs a program is compiled for: shapes, lengths of sequences, optionals that are empty, the
    values of inputs that decide, as bytes, and the bytes of strings."""

    shapes: Mapping[str, tuple[int, ...]]
    lengths: Mapping[str, int]
    absent: tuple[str, ...]
    values: Mapping[str, bytes]
    bounds: Mapping[str, int]


class CompiledModel(BackendRep):
    """A model, compiled when its inputs' shapes are known: at once where the model says them, or else at a run.

    So it is with longer strings, with the lengths of sequences, which are Python lists, with optionals, which may be
    ``None``, and with the values of inputs without which the compiler cannot go on: shapes, trip counts, positions. A
    run with others compiles anew; the last one is kept.
    """

    def __init__(self, model: onnx.ModelProto, build: Callable[[Program, Machine], Run]) -> None:
        """Raises what :func:`ccml.frontend_onnx.import_model` raises, where all extents are known."""
        self._model, self._build = model, build
        initializers = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in initializers]
        self._inputs = [value.name for value in inputs]
        self._strings = [value.name for value in inputs if value.type.tensor_type.elem_type == onnx.TensorProto.STRING]
        self._bounds: dict[str, int] = {}
        self._interface = TensorInterface(model, {}, {})
        self._form: _Form | None = None
        self._run: Run | None = None
        self._deciding: set[str] = set()
        self._is_open = not only_tensors(inputs) or any(map(has_open_dimensions, inputs))
        if not self._is_open:
            try:
                self._compile(_Form({}, {}, (), {}, {}), {})
            except CcmlError as problem:
                if not problem.deciding:
                    raise
                self._is_open, self._deciding = True, set(problem.deciding)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order, also by their names, for inputs in the model's order or by their names.

        A sequence is a list of arrays, an optional that is empty ``None``. Raises ``BAD_INPUT`` where inputs do not fit
        the model.
        """
        given = self._given(inputs)
        lengths = {name: len(value) for name, value in given.items() if isinstance(value, list)}
        absent = tuple(name for name, value in given.items() if value is None)
        members = with_tensor_inputs(self._model, lengths, absent).inputs
        feeds = _feeds(given, members)
        longer = self._longer(feeds)
        if self._run is None or self._is_open or longer:
            self._compile_for(feeds, lengths, absent)
        assert self._run is not None
        results = self._run({name: array for name, array in feeds.items() if name not in self._deciding})
        outputs: dict[str, Any] = {name: _collected(results, own) for name, own in self._interface.outputs.items()}
        return namedtupledict("Outputs", list(outputs))(*outputs.values())

    def _longer(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """Whether strings are longer than what was compiled; notes their lengths."""
        sizes = {name: longest(feeds[name], name) for name in self._strings if name in feeds}
        known = {name: self._bounds.get(name, DEFAULT_BOUND) for name in sizes}
        self._bounds |= {name: size for name, size in sizes.items() if size > known[name]}
        return any(size > known[name] for name, size in sizes.items())

    def _compile_for(
        self, feeds: Mapping[str, np.ndarray], lengths: Mapping[str, int], absent: tuple[str, ...]
    ) -> None:
        """Compiles for a run's inputs, unless the program is for such; finds which values it takes for that."""
        shapes = {name: array.shape for name, array in feeds.items()} if self._is_open else {}
        values = {name: feeds[name] for name in self._deciding if name in feeds}
        form = _Form(shapes, lengths, absent, {name: array.tobytes() for name, array in values.items()},
                     dict(self._bounds))  # fmt: skip
        if form == self._form:
            return
        try:
            self._compile(form, values)
        except CcmlError as problem:
            new = set(problem.deciding) & feeds.keys() - values.keys()
            if not new:
                raise
            self._deciding |= new
            self._compile_for(feeds, lengths, absent)

    def _compile(self, form: _Form, values: Mapping[str, np.ndarray]) -> None:
        machine, shapes = host_machine(), {n: s for n, s in form.shapes.items() if n not in values}
        with np.errstate(all="ignore"):
            interface = tensor_interface(
                self._model, form.lengths, form.absent, shapes=shapes, bounds=form.bounds,
                fixed=lambda flat: with_constant_inputs(flat, values),
            )  # fmt: skip
            imported = import_model(interface.model, shapes=shapes, bounds=form.bounds)
            graph = optimize(imported, bytes_as=preferred_bytes(machine))
        self._run, self._form, self._interface = self._build(lower_graph(graph, machine), machine), form, interface

    def _given(self, inputs: Any) -> dict[str, np.ndarray | list[np.ndarray] | None]:
        """What stands for each input."""
        if not isinstance(inputs, Mapping):
            given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            if len(given) != len(self._inputs):
                reason = f"{len(given)} arrays for {len(self._inputs)} inputs: {', '.join(self._inputs)}"
                raise CcmlError(ErrorCode.BAD_INPUT, reason)
            inputs = dict(zip(self._inputs, given))
        sequences = {value.name for value in self._model.graph.input if is_sequence(value)}
        optionals = {value.name for value in self._model.graph.input if is_optional(value)}
        for name, value in inputs.items():
            if value is None and name not in optionals:
                raise CcmlError(ErrorCode.BAD_INPUT, "this input is not optional", loc=name)
            if value is not None and isinstance(value, (list, tuple)) != (name in sequences):
                what = "a sequence: a list of arrays" if name in sequences else "a tensor: an array"
                raise CcmlError(ErrorCode.BAD_INPUT, f"this input is {what}", loc=name)
        return {
            name: None if value is None else list(map(np.asarray, value)) if name in sequences else np.asarray(value)
            for name, value in inputs.items()
        }


def _feeds(
    given: Mapping[str, np.ndarray | list[np.ndarray] | None], members: Mapping[str, Members]
) -> dict[str, np.ndarray]:
    """The arrays by the names of tensors."""
    feeds: dict[str, np.ndarray] = {}
    for name, value in given.items():
        own = members.get(name, name)
        if isinstance(own, tuple) and isinstance(value, list):
            feeds |= dict(zip(own, value))
        elif isinstance(own, str) and isinstance(value, np.ndarray):
            feeds[own] = value
    return feeds


def _collected(results: Mapping[str, np.ndarray], members: Members) -> np.ndarray | list[np.ndarray] | None:
    """An output: an array, the list of a sequence, or ``None``."""
    if isinstance(members, tuple):
        return [results[name] for name in members]
    return None if members is None else results[members]


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
