"""The functions that GCC's and clang's run-time libraries have under the same names (GCC Internals, chapter 4)."""

_FLOATS, _WHOLE = ("sf", "df"), ("si", "di")

SOFT_FLOAT = (
    *(f"__{op}{kind}3" for op in ("add", "sub", "mul", "div") for kind in _FLOATS),
    *(f"__{op}{kind}2" for op in ("neg", "eq", "ne", "lt", "le", "gt", "ge", "unord") for kind in _FLOATS),
    *(f"__{op}{kind}{whole}" for op in ("fix", "fixuns") for kind in _FLOATS for whole in _WHOLE),
    *(f"__{op}{whole}{kind}" for op in ("float", "floatun") for kind in _FLOATS for whole in _WHOLE),
    "__extendsfdf2", "__truncdfsf2",
)  # fmt: skip
"""Arithmetic of float and double."""

WIDE_INTEGERS = (
    *(f"__{op}di3" for op in ("mul", "div", "udiv", "mod", "umod", "ashl", "ashr", "lshr")),
    *(f"__{op}{whole}2" for op in ("clz", "ctz", "popcount") for whole in _WHOLE),
)
"""Arithmetic of 64-bit integers on machines of 32 bits."""
