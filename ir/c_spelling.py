"""How element types and texts are spelled in C."""

from __future__ import annotations

from .types import DType

# f16 and narrow types are kept as their bits; a bool is a byte, 0 or 1.
MEMORY_TYPES = {
    DType.F64: "double", DType.F32: "float", DType.F16: "uint16_t",
    DType.I64: "int64_t", DType.I32: "int32_t", DType.I16: "int16_t", DType.I8: "int8_t",
    DType.U64: "uint64_t", DType.U32: "uint32_t", DType.U16: "uint16_t", DType.U8: "uint8_t",
    DType.BOOL: "uint8_t", DType.INDEX: "ptrdiff_t",
}  # fmt: skip
MEMORY_TYPES |= {dtype: MEMORY_TYPES[dtype.stored] for dtype in DType if dtype.stored is not dtype}


def c_string(text: str | bytes) -> str:
    """A C string literal with these bytes, or the UTF-8 bytes of ``text``. Nothing in it can end the literal."""
    out = []
    for byte in text.encode("utf-8") if isinstance(text, str) else text:
        char = chr(byte)
        if char in '"\\?':
            out.append(f"\\{char}")
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")
    return f'"{"".join(out)}"'
