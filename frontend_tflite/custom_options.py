"""The options of custom operators: a map in FlexBuffers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from .context import OpContext


def custom_options(ctx: OpContext, defaults: Mapping[str, float]) -> dict[str, float]:
    """Numbers by their names in ``defaults``, which are what they are where the map has none."""
    from flatbuffers import flexbuffers

    found = dict(defaults)
    if not ctx.op.custom:
        return found
    try:
        options = flexbuffers.GetRoot(bytearray(ctx.op.custom)).AsMap
        for name in defaults:
            with suppress(KeyError):
                value = options[name]
                found[name] = float(value.AsBool if value.IsBool else value.AsFloat if value.IsFloat else value.AsInt)
    except Exception as problem:  # the bytes may be anything, and so may be what the reader raises
        raise ctx.invalid(f"its custom options are damaged ({problem})") from problem
    return found
