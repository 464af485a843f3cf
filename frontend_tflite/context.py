"""What a rule sees: one operator of the file, with its tensors, and the ONNX graph that it writes into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import helper

from ..errors import CcmlError, ErrorCode
from ..record import record
from .model import Operator, Option, Quantization, Tensor
from .onnx_nodes import Attribute, OnnxGraph
from .states import States

CODES = ("INT4", "INT8", "UINT8", "INT16")
"""Element types of quantized tensors."""
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
NHWC_TO_NCHW = (0, 3, 1, 2)
NCHW_TO_NHWC = (0, 2, 3, 1)


@record
class OpContext:
    """``inputs`` and ``outputs`` are the tensors of the operator, ``None`` where one is left out; ``values`` are the
    ONNX values of the inputs. A rule returns the ONNX value of each output."""

    op: Operator
    graph: OnnxGraph
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    values: tuple[str | None, ...]
    constants: Mapping[str, np.ndarray]
    memory: States | None

    # ------------------------------------------------------------ what the operator has

    @property
    def loc(self) -> str:
        return self.graph.loc

    def unsupported(self, reason: str, hint: str | None = None) -> CcmlError:
        return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"{self._described}: {reason}", loc=self.loc, hint=hint)

    def invalid(self, reason: str) -> CcmlError:
        return CcmlError(ErrorCode.INVALID_MODEL, f"{self._described}: {reason}", loc=self.loc)

    @property
    def _described(self) -> str:
        return f"{self.op.name} of '{self.outputs[0].name}'" if self.outputs else self.op.name

    @property
    def states(self) -> States:
        if self.memory is None:
            hint = "convert the model without layers with states in branches and loops"
            raise self.unsupported("a layer with a state within IF or WHILE is not supported", hint)
        return self.memory

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] is not None

    def tensor(self, position: int) -> Tensor:
        found = self.inputs[position] if position < len(self.inputs) else None
        if found is None:
            raise self.invalid(f"operand {position} is missing")
        return found

    def shape(self, position: int, rank: int | None = None) -> tuple[int, ...]:
        """The shape of an operand, which has ``rank`` dimensions."""
        shape = self.tensor(position).shape
        if rank is not None and len(shape) != rank:
            raise self.invalid(f"'{self.tensor(position).name}' has the shape {list(shape)}, not {rank} dimensions")
        return shape

    @property
    def out(self) -> Tensor:
        if not self.outputs:
            raise self.invalid("it has no output")
        return self.outputs[0]

    def out_shape(self, rank: int) -> tuple[int, ...]:
        if len(self.out.shape) != rank:
            raise self.invalid(f"the result has the shape {list(self.out.shape)}, not {rank} dimensions")
        return self.out.shape

    def integer(self, name: str, default: int = 0) -> int:
        value = self.op.options.get(name, default)
        return int(value) if isinstance(value, (int, float)) else default

    def number(self, name: str, default: float = 0.0) -> float:
        value: Option = self.op.options.get(name, default)
        return float(value) if isinstance(value, (int, float)) else default

    def flag(self, name: str) -> bool:
        return bool(self.integer(name))

    def positive(self, name: str, default: int = 1) -> int:
        """A stride, factor or the like, which the schema gives the default 0 where it is left out."""
        value = self.integer(name, default)
        if not 0 < value < 1 << 31:
            raise self.invalid(f"{name} is {value}")
        return value

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise self.invalid(f"there is no axis {axis} among {rank} dimensions")
        return axis % rank

    def array(self, position: int) -> np.ndarray | None:
        """The elements of a constant operand."""
        value = self.stored(position)
        return self.constants.get(value)

    def constant_array(self, position: int, what: str) -> np.ndarray:
        found = self.array(position)
        if found is None:
            hint = "convert the model with constant parameters"
            raise self.unsupported(f"{what} ('{self.tensor(position).name}') has to be constant", hint)
        return found

    def integers(self, position: int, what: str) -> list[int]:
        array = self.constant_array(position, what)
        if array.dtype.kind not in "iu":
            raise self.invalid(f"{what} is {array.dtype}")
        return [int(entry) for entry in array.reshape(-1)]

    # ------------------------------------------------------------ values

    def stored(self, position: int) -> str:
        """An operand as it is stored."""
        self.tensor(position)
        value = self.values[position]
        assert value is not None
        return value

    def real(self, position: int) -> str:
        """An operand as the floats that it stands for."""
        return self.dequantized(self.stored(position), self.tensor(position))

    def dequantized(self, value: str, tensor: Tensor) -> str:
        """Integers of the type and quantization of ``tensor`` as floats; what is not quantized stays as it is."""
        quant = tensor.quantization
        if quant is None or tensor.type not in (*CODES, "INT32"):
            if tensor.type == "FLOAT16":
                return self.emit("Cast", value, to=_onnx_type(np.dtype(np.float32)))
            return value
        return self.dequantize(value, quant, tensor.dtype)

    def dequantize(self, value: str, quant: Quantization, dtype: np.dtype) -> str:
        axis = None if quant.per_tensor else quant.axis
        return self.emit("DequantizeLinear", value, *self.parameters(quant, dtype), axis=axis)

    def parameters(self, quant: Quantization, dtype: np.dtype) -> tuple[str, str]:
        limits = np.iinfo(dtype)
        if np.any((quant.zero_point < limits.min) | (quant.zero_point > limits.max)):
            raise self.invalid(f"a zero point is no {dtype}")
        scale, zero_point = quant.scale, quant.zero_point.astype(dtype)
        if quant.per_tensor:
            scale, zero_point = scale.reshape(()), zero_point.reshape(())
        return self.constant(scale, "scale"), self.constant(zero_point, "zero_point")

    def result(self, real: str, tensor: Tensor | None = None) -> str:
        """Floats as an output has them: quantized where it is."""
        tensor = self.out if tensor is None else tensor
        if tensor.quantization is None or tensor.type not in (*CODES, "INT32"):
            return real
        if not tensor.quantization.per_tensor:
            raise self.unsupported(f"'{tensor.name}', a result, has scales along an axis")
        if tensor.type == "INT4":
            raise self.unsupported(f"'{tensor.name}', a result, has 4 bits")
        if tensor.type == "INT32":
            return self._wide_result(real, tensor.quantization)
        return self.emit("QuantizeLinear", real, *self.parameters(tensor.quantization, tensor.dtype))

    def _wide_result(self, real: str, quant: Quantization) -> str:
        """QuantizeLinear has no result of 32 bits: the same steps in float64."""
        double = self.emit("Cast", real, to=_onnx_type(np.dtype(np.float64)))
        scale, zero_point = (self.constant(p.reshape(()).astype(np.float64)) for p in (quant.scale, quant.zero_point))
        steps = self.emit("Add", self.emit("Round", self.emit("Div", double, scale)), zero_point)
        bounds = [self.constant(np.asarray(float(bound))) for bound in (-(2**31), 2**31 - 1)]
        return self.emit("Cast", self.emit("Clip", steps, *bounds), to=_onnx_type(np.dtype(np.int32)))

    def carried(self, positions: Sequence[int]) -> tuple[list[str], Callable[[str, Tensor], str]]:
        """Operands that a rule moves without computing with them, and what makes an output of the moved ones.

        They stay integers where all operands and results are quantized the same way, else they are requantized.
        """
        tensors = [self.tensor(position) for position in positions]
        first = tensors[0].quantization
        if all(t.type not in (*CODES, "INT32") or t.quantization is None for t in (*tensors, *self.outputs)) or (
            first is not None and all(first.same(t.quantization) for t in (*tensors[1:], *self.outputs))
        ):
            return [self.stored(position) for position in positions], lambda value, _: value
        return [self.real(position) for position in positions], self.result

    def is_code(self, position: int) -> bool:
        """Whether an operand is quantized."""
        tensor = self.tensor(position)
        return tensor.quantization is not None and tensor.type in CODES

    # ------------------------------------------------------------ nodes

    def in_body(self) -> OpContext:
        """The same operator, which writes into the body of a node."""
        return replace(self, graph=self.graph.body())

    def constant(self, array: np.ndarray, name: str | None = None) -> str:
        return self.graph.constant(array, self.loc if name is None else f"{self.loc}/{name}")

    def emit(self, op_type: str, *inputs: str, **attributes: Attribute) -> str:
        return self.graph.emit(op_type, *inputs, **attributes)

    def scalar(self, number: float) -> str:
        return self.constant(np.asarray(number, np.float32))

    def indices(self, numbers: Sequence[int]) -> str:
        return self.constant(np.asarray(numbers, np.int64).reshape(-1))

    def cast(self, value: str, dtype: np.dtype | type) -> str:
        return self.emit("Cast", value, to=_onnx_type(np.dtype(dtype)))

    def reshaped(self, value: str, shape: Sequence[int]) -> str:
        return self.emit("Reshape", value, self.indices(shape), allowzero=1 if 0 in shape else None)

    def transposed(self, value: str, perm: Sequence[int]) -> str:
        """A constant is transposed now."""
        if value in self.constants and list(perm) != sorted(perm):
            return self.constant(self.constants[value].transpose(perm), "transposed")
        return value if list(perm) == sorted(perm) else self.emit("Transpose", value, perm=list(perm))

    def channels_first(self, position: int) -> str:
        """An operand [n, h, w, c] as floats [n, c, h, w].

        It is dequantized first: an input that nothing else reads has its scale in the header then.
        """
        self.shape(position, 4)
        return self.transposed(self.real(position), NHWC_TO_NCHW)

    def channels_last(self, value: str) -> str:
        return self.transposed(value, NCHW_TO_NHWC)

    def activated(self, real: str, option: str = "FusedActivationFunction") -> str:
        """Behind the fused activation. Clipping before the quantization is clamping the integers: both round the
        bounds the same way."""
        number = self.integer(option)
        kind = ACTIVATIONS[number] if 0 <= number < len(ACTIVATIONS) else str(number)
        if kind == "NONE":
            return real
        if kind == "RELU":
            return self.emit("Relu", real)
        if kind in ("RELU6", "RELU_N1_TO_1"):
            low, high = (0.0, 6.0) if kind == "RELU6" else (-1.0, 1.0)
            return self.emit("Clip", real, self.scalar(low), self.scalar(high))
        if kind == "TANH":
            return self.emit("Tanh", real)
        raise self.unsupported(f"the fused activation {kind} is not supported")


def _onnx_type(dtype: np.dtype) -> int:
    return int(helper.np_dtype_to_tensor_dtype(dtype))


Rule = Callable[[OpContext], Sequence[str]]
"""The ONNX value of each output of an operator."""
