"""What an importer rule sees of one ONNX node: operands, attributes in Python types, and ways to emit core operators.

Differences between operator-set versions in *where* a parameter stands (an attribute once, an input later) are
settled here, by :meth:`NodeContext.parameter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np
import onnx
from onnx import AttributeProto

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from ..ops.table import OPS
from ..record import record
from .declared import Extents
from .extents import Extents as RunExtents
from .folding import MAX_FOLDED_BYTES, FoldingBuilder
from .polynomials import Polynomial
from .probe import MARK, depends
from .tensors import to_array


@record
class NodeContext:
    """One ONNX node. ``opset`` is the version of its domain; ``attributes`` are resolved (functions pass theirs on).

    ``declared`` tells what the model says of the shape of an output. What is emitted ``over_bounds`` works on whole
    tensors, beyond extents as well: results have no extents, and are not compared with the second import.
    """

    op_type: str
    opset: int
    loc: str
    stem: str
    inputs: tuple[Value | None, ...]
    output_count: int
    wanted: tuple[bool, ...]
    attributes: Mapping[str, AttributeProto]
    builder: FoldingBuilder
    declared: Callable[[int], Extents | None] = lambda position: None
    over_bounds: bool = False

    # Operands

    def optional(self, position: int) -> Value | None:
        """An input, or ``None`` where it is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def input(self, position: int) -> Value:
        value = self.optional(position)
        if value is None:
            raise self.invalid(f"input {position} of {self.op_type} is missing")
        return value

    def operands(self) -> tuple[Value, ...]:
        """The inputs of a variadic operator."""
        return tuple(self.input(position) for position in range(len(self.inputs)))

    def array(self, value: Value | None) -> np.ndarray | None:
        """The elements of a value that is constant."""
        return None if value is None else self.builder.constants.get(value.name)

    def known(self, value: Value) -> np.ndarray | None:
        """As :meth:`array`, also where the value is a constant that is stored quantized."""
        source = self.builder.dequantized_constant(value.name)
        if source is None:
            return self.array(value)
        stored = [self.builder.constants[operand.name] for operand in source.operands]
        return OPS[source.op].evaluate(stored, source.attrs)[0]

    def static(self, position: int, what: str) -> np.ndarray:
        """The elements of an input that has to be constant."""
        array = self.known(self.input(position))
        if array is None:
            name = self.input(position).name
            reason = f"{what} is computed at run time (operand {name}); it has to be constant"
            hint = "compute it from constants or from shapes that --dim fixes"
            raise self.unsupported(reason, hint, deciding=[name])
        return array

    def runtime(self, *positions: int) -> bool:
        """Whether any of these operands is computed at run time."""
        return any(value is not None and self.known(value) is None for value in map(self.optional, positions))

    def declared_shape(
        self, what: str, operands: Sequence[int], position: int = 0, bound: bool = False
    ) -> tuple[int, ...]:
        """The shape of an output as the model says it, where operands that would tell it are computed at run time.
        Where there may be a ``bound`` of the user's instead, the error says so."""
        extents = self.declared(position)
        if extents is None or None in extents:
            names = [self.input(n).name for n in operands if self.runtime(n)]
            known = "" if extents is None else f" beyond [{', '.join('?' if e is None else str(e) for e in extents)}]"
            raise self.unsupported(
                f"{what} is computed at run time (operand {', '.join(names)}), and the shape of {self.stem} is not "
                f"known{known}",
                hint=f"{f'bound it with --max {self.stem}=N, ' if bound else ''}fix dimensions with --dim, declare the "
                "shape in the model (value_info), or make the operand a constant",
                deciding=names,
            )
        return tuple(extent for extent in extents if extent is not None)

    # Attributes

    def integer(self, name: str, default: int | None = None) -> int:
        return int(self._attribute(name, AttributeProto.INT, lambda a: a.i, default))  # type: ignore[call-overload]

    def number(self, name: str, default: float | None = None) -> float:
        """A float attribute; the default, too, is a float32, as the operators' schemas have it."""
        default = None if default is None else float(np.float32(default))
        return float(self._attribute(name, AttributeProto.FLOAT, lambda a: a.f, default))  # type: ignore[arg-type]

    def string(self, name: str, default: str | None = None) -> str:
        return str(self._attribute(name, AttributeProto.STRING, lambda a: a.s.decode("utf-8", "replace"), default))

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        return self._attribute(name, AttributeProto.INTS, lambda a: tuple(a.ints), default)  # type: ignore[return-value]

    def numbers(self, name: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        return self._attribute(name, AttributeProto.FLOATS, lambda a: tuple(a.floats), default)  # type: ignore[return-value]

    def strings(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        decode = lambda a: tuple(s.decode("utf-8", "replace") for s in a.strings)  # noqa: E731
        return self._attribute(name, AttributeProto.STRINGS, decode, default)  # type: ignore[return-value]

    def tensor(self, name: str) -> np.ndarray:
        return to_array(self._attribute(name, AttributeProto.TENSOR, lambda a: a.t, None), self.loc)  # type: ignore[arg-type]

    def has(self, name: str) -> bool:
        return name in self.attributes

    def _attribute(
        self, name: str, kind: int, read: Callable[[onnx.AttributeProto], object], default: object
    ) -> object:
        attribute = self.attributes.get(name)
        if attribute is None:
            if default is None:
                raise self.invalid(f"attribute {name} of {self.op_type} is missing")
            return default
        if attribute.type != kind:
            expected = AttributeProto.AttributeType.Name(kind).lower()
            raise self.invalid(f"attribute {name} of {self.op_type} is not of type {expected}")
        return read(attribute)

    def parameter(self, name: str, position: int) -> tuple[int, ...] | None:
        """Integers that older versions hold in attribute ``name`` and newer ones in the (constant) input."""
        if self.has(name):
            return self.integers(name)
        if self.optional(position) is None:
            return None
        array = self.static(position, name)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            raise self.invalid(f"{name} is {array.dtype}{list(array.shape)}, not a list of integers")
        return tuple(int(entry) for entry in array.reshape(-1))

    def scalar_parameter(self, name: str, position: int) -> np.generic | float | None:
        """One number that older versions hold in float attribute ``name`` and newer ones in the (constant) input."""
        if self.has(name):
            return self.number(name)
        if self.optional(position) is None:
            return None
        array = self.static(position, name)
        if array.size != 1:
            raise self.invalid(f"{name} has {array.size} elements, not one")
        return array.reshape(-1)[0]

    def axis(self, axis: int, rank: int) -> int:
        """A possibly negative axis as 0..rank-1."""
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is outside of rank {rank}")
        return axis + rank if axis < 0 else axis

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        result = tuple(self.axis(axis, rank) for axis in axes)
        if len(set(result)) != len(result):
            raise self.invalid(f"axes {tuple(axes)} repeat one")
        return result

    # Output

    def emit(self, op: str, *inputs: Value | None, **attrs: AttrValue) -> Value:
        """Emits an operator with one result."""
        (value,) = self.emit_all(op, *inputs, **attrs)
        return value

    def emit_all(self, op: str, *inputs: Value | None, **attrs: AttrValue) -> tuple[Value, ...]:
        if self.over_bounds:
            return self.builder.emit_whole(op, inputs, attrs, loc=self.loc, names=repeat(f"{self.stem}{MARK}"))
        return self.builder.emit(op, inputs, attrs, loc=self.loc, names=repeat(f"{self.stem}.{op}"))

    def constant(self, array: np.ndarray) -> Value:
        return self.builder.constant(array, f"{self.stem}{MARK if self.over_bounds else '.const'}")

    # Extents

    def extents(self, value: Value | None) -> RunExtents:
        """The dimensions of a value whose extents only a run knows; none in arithmetic of constants, such as shapes."""
        if value is None or all(each is None or each.name in self.builder.constants for each in self.inputs):
            return {}
        return self.builder.extents_of(value, self.loc)

    def has_extents(self) -> bool:
        """Whether any operand has such a dimension; all are looked at."""
        found = [self.extents(value) for value in self.inputs]
        return any(found)

    def extent_along(self, value: Value, axis: int) -> Polynomial:
        """What is known of the extent of a value along an axis."""
        count = self.builder.extents_of(value, self.loc).get(axis)
        return Polynomial.constant(value.shape[axis]) if count is None else self.builder.polynomial(count)

    def counts_of(self, numbers: Value | None, shape: Sequence[int]) -> dict[int, Value]:
        """The dimensions of a ``shape`` whose extents depend on a run where ``numbers`` is the operand that says it."""
        known = self.builder.numbers.of(numbers)
        if known is None or len(known) != len(shape):
            return {}
        return {
            axis: self.builder.counts.value(each, self.loc) for axis, each in enumerate(known) if each.number is None
        }

    def of_run(self, *positions: int) -> NodeContext:
        """The node with operands that depend on extents, such as indices of last elements, as what a run computes."""
        numbers = self.builder.numbers
        if not any(numbers.depends(self.input(position)) for position in positions):
            return self
        inputs = list(self.inputs)
        for position in positions:
            inputs[position] = numbers.in_run(self.input(position), self.loc)
        return replace(self, inputs=tuple(inputs))

    def is_argument(self, count: Value) -> bool:
        """Whether an extent is one of the arguments of a run."""
        return self.builder.least(count) is not None

    def with_extents(self, value: Value, extents: RunExtents) -> Value:
        """A result of nodes that are ``over_bounds`` and its extents."""
        if extents and value.name in self.builder.constants:
            raise depends(f"a constant by {self.op_type}", self.loc)
        if extents:
            self.builder.extents[value.name] = extents
        return value

    def guard_constant(self, elements: int) -> None:
        """Refuses constants whose size a damaged or hostile model could choose at will."""
        if elements > MAX_FOLDED_BYTES // 8:
            raise self.unsupported(f"needs a constant of {elements} elements")

    def scalar(self, number: float, like: Value) -> Value:
        """A rank-0 constant of the element type of ``like``; whole numbers modulo what integers hold."""
        if like.dtype.is_float or like.dtype is DType.BOOL:
            return self.constant(np.asarray(number, like.dtype.numpy))
        if not float(number).is_integer() or abs(number) > 2**64:
            raise self.unsupported(f"{number:g} with integers ({like.dtype.value})")
        return self.constant(np.asarray(int(number) % 2**64, np.uint64).astype(like.dtype.numpy))

    def cast(self, value: Value, to: DType) -> Value:
        return value if value.dtype is to else self.emit("cast", value, to=to)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        return value if value.shape == tuple(shape) else self.emit("reshape", value, shape=tuple(shape))

    # Errors

    def invalid(self, reason: str) -> CcmlError:
        return CcmlError(ErrorCode.INVALID_MODEL, reason, loc=self.loc)

    def unsupported(self, reason: str, hint: str | None = None, deciding: Sequence[str] = ()) -> CcmlError:
        """``deciding`` are the tensors that would have to be constant."""
        return CcmlError(
            ErrorCode.UNSUPPORTED_FEATURE, f"{self.op_type}: {reason}", loc=self.loc, hint=hint, deciding=deciding
        )


Rule = Callable[[NodeContext], Sequence[Value]]
"""Emits the core operators of one ONNX node and returns its outputs; trailing optional ones may be left out."""
