"""How header, library and file of weights know each other, in C: the library's own identity, the check of weights, and
what the header puts around its functions."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.checksum import crc_table
from ..ir.program import Program
from ..ir.weights import CHECKED, CONTENT, FORMAT, MAGIC
from .symbols import Symbols

_CHECK_WEIGHTS = """
{storage}int {function}(const void *weights, size_t size)
{{
    /* CRC-32 of half a byte at a time. */
    static const uint32_t table[16] = {{
{table}
    }};
    const unsigned char *const bytes = weights;
    const uint32_t *const words = weights;
    uint32_t checksum = 0xffffffffu;
    size_t at;
    if (weights == NULL)
        return {macro}_ERROR_NULL;
    if ((uintptr_t)weights % {macro}_WEIGHTS_ALIGN != 0)
        return {macro}_ERROR_ALIGN;
    if (size < {content} || words[0] != {magic:#x}u || words[1] != {format}u)
        return {macro}_ERROR_WEIGHTS;
    if (words[2] != {macro}_MODEL_ID)
        return {macro}_ERROR_MODEL;
    if (size < {macro}_WEIGHTS_FILE_SIZE)
        return {macro}_ERROR_WEIGHTS;
    for (at = {checked}; at < {macro}_WEIGHTS_FILE_SIZE; at++) {{
        checksum ^= bytes[at];
        checksum = (checksum >> 4) ^ table[checksum & 15u];
        checksum = (checksum >> 4) ^ table[checksum & 15u];
    }}
    return ~checksum == words[3] ? {macro}_OK : {macro}_ERROR_WEIGHTS;
}}
"""


def identity_source(program: Program, symbols: Symbols, storage: Sequence[str]) -> str:
    """The function that tells the library's identity, and that which checks a file of weights, where there is one."""
    prefix = "".join(f"{word}\n" for word in storage)
    text = f"{prefix}uint32_t {symbols.model_id}(void)\n{{\n    return {symbols.macro}_MODEL_ID;\n}}\n"
    if program.weights is None:
        return text
    words = [f"{word:#010x}u" for word in crc_table()]
    table = ",\n".join(f"        {', '.join(words[row : row + 4])}" for row in range(0, 16, 4))
    return text + _CHECK_WEIGHTS.format(
        storage=prefix, function=symbols.check_weights, macro=symbols.macro, table=table, content=CONTENT, magic=MAGIC,
        format=FORMAT, checked=CHECKED,
    )  # fmt: skip
