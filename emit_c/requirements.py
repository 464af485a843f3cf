"""What a kernel uses of the runtime: header groups, and vector types and conversions that have to be instantiated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..ir.loops import Type
from ..ir.types import DType
from .spelling import MEMORY_TYPES, check_vector, value_type, wide_type

# The lanes and element types for which the runtime has a header, with machine instructions behind it. A header of
# narrow integers includes that of 32 bits, one of 64 bits both; it has all conversions among them, but for those of 64
# bits to and from what is no integer.
_HEADER_LANES = (4, 8, 16)
_HEADERS = {
    **dict.fromkeys((DType.F32, DType.I32, DType.U32, DType.BOOL), "ccml_x{}.h"),
    **dict.fromkeys((DType.I8, DType.U8, DType.I16, DType.U16), "ccml_narrow{}.h"),
    **dict.fromkeys((DType.I64, DType.U64), "ccml_long{}.h"),
}


def _in_header(type_: Type) -> bool:
    return type_.lanes in _HEADER_LANES and type_.dtype in _HEADERS


def _in_word_header(type_: Type) -> bool:
    return _in_header(type_) and type_.dtype.size == 4


def has_products(type_: Type) -> bool:
    """Whether the header of an integer type has a function for the products of words."""
    return _in_header(type_) and type_.dtype is DType.I64


def has_saturation(type_: Type) -> bool:
    """Whether the header of bytes of as many lanes makes these of words, saturated."""
    return type_.dtype is DType.I32 and type_.lanes in _HEADER_LANES


def _is_long_and_other(one: DType, other: DType) -> bool:
    """Whether one has 64 bits, and one is no integer."""
    return 8 in (one.size, other.size) and not (one.is_integer and other.is_integer)


def _order(type_: Type) -> tuple[int, int, str]:
    """Masks come first: other types refer to those of as many lanes."""
    return (type_.dtype is not DType.BOOL, type_.lanes, type_.dtype.value)


@dataclass
class Requirements:
    """Filled while kernels are translated; one object may collect for many kernels."""

    headers: set[str] = field(default_factory=set)
    blocks: set[str] = field(default_factory=set)
    vectors: set[Type] = field(default_factory=set)
    conversions: set[tuple[Type, DType]] = field(default_factory=set)
    bitcasts: set[tuple[Type, Type]] = field(default_factory=set)

    def header(self, name: str) -> None:
        self.headers.add(name)

    def block(self, name: str) -> None:
        """A block instruction is invoked."""
        self.blocks.add(name)

    def type(self, type_: Type) -> None:
        """A value of that type is used."""
        if type_.lanes == 1:
            return
        check_vector(type_)
        if _in_header(type_):
            self.headers.add(_HEADERS[type_.dtype].format(type_.lanes))
            return
        self.headers.update({"ccml_vector.h", "ccml_f16.h"} if type_.dtype is DType.F16 else {"ccml_vector.h"})
        self.vectors.add(type_)
        if type_.dtype is not DType.BOOL:
            self.type(Type(DType.BOOL, type_.lanes))

    def conversion(self, source: Type, target: DType) -> None:
        self.type(source)
        self.type(Type(target, source.lanes))
        if not (_in_header(source) and target in _HEADERS) or _is_long_and_other(source.dtype, target):
            self.conversions.add((source, target))

    def bitcast(self, source: Type, target: Type) -> None:
        self.type(source)
        self.type(target)
        if not (_in_word_header(source) and _in_word_header(target) and source.lanes == target.lanes):
            self.headers.add("ccml_vector.h")
            self.bitcasts.add((source, target))

    def instances(self) -> Iterator[tuple[str, str]]:
        """Guard macro and macro invocation of everything that no header defines, in the order of definition."""
        for type_ in sorted(self.vectors, key=_order):
            yield f"CCML_{type_}".upper(), _vector_instance(type_)
        for source, target in sorted(self.conversions, key=lambda pair: (str(pair[0]), pair[1].value)):
            yield f"CCML_{source}_TO_{target.value}".upper(), _convert_instance(source, target)
        for old, new in sorted(self.bitcasts, key=lambda pair: (str(pair[0]), str(pair[1]))):
            yield (
                f"CCML_{old}_AS_{new}".upper(),
                f"CCML_PORTABLE_BITCAST({old}, {value_type(old)}, {new}, {value_type(new)})",
            )


def _vector_instance(type_: Type) -> str:
    dtype, lanes = type_.dtype, type_.lanes
    memory = MEMORY_TYPES[dtype]
    if dtype is DType.BOOL:
        return f"CCML_PORTABLE_BOOL({lanes})"
    if dtype is DType.F16:
        return f"CCML_PORTABLE_FLOAT(f16, {memory}, {lanes}, ccml_f16_to_f32, ccml_f32_to_f16)"
    if dtype.is_float:
        return f"CCML_PORTABLE_FLOAT({dtype.value}, {memory}, {lanes}, , )"
    dots = f" CCML_PORTABLE_DOT({lanes})" if dtype is DType.I32 else ""
    return f"CCML_PORTABLE_INTEGER({dtype.value}, {memory}, {lanes}, {wide_type(dtype)}){dots}"


def _convert_instance(source: Type, target: DType) -> str:
    old, new = source.dtype, target
    arguments = f"{old.value}, {MEMORY_TYPES[old]}, {new.value}, {MEMORY_TYPES[new]}, {source.lanes}"
    return f"CCML_PORTABLE_CONVERT({arguments}, {convert_spelling(old, new)})"


def convert_spelling(old: DType, new: DType) -> str:
    """What stands before a parenthesised lane of type ``old`` to make a lane of type ``new`` of it."""
    if new is DType.BOOL:
        return "CCML_F16_TO_BOOL" if old is DType.F16 else "CCML_TO_BOOL"
    if new is DType.F16:
        return "ccml_f32_to_f16" if old is DType.F32 else "CCML_TO_F16"
    if old is DType.F16:
        return "ccml_f16_to_f32" if new is DType.F32 else f"({MEMORY_TYPES[new]})ccml_f16_to_f32"
    return f"({MEMORY_TYPES[new]})"
