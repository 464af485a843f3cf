"""Rules of the operators of ai.onnx.ml that prepare features: scaling, imputing, encoding and choosing columns."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ops_movement import sliced
from .ops_strings import chosen_strings, is_string, string_positions

log = logging.getLogger(__name__)

_DENSE_KEYS = 4
"""A table over a range of integer keys has at most so many entries for each key."""


def as_float(ctx: NodeContext, x: Value) -> Value:
    """Features as the classical models compute with them: doubles stay, all else is float32."""
    return x if x.dtype is DType.F64 else ctx.cast(x, DType.F32)


def per_feature(ctx: NodeContext, numbers: Sequence[float], x: Value, what: str) -> Value:
    """A constant of the type of ``x``: one number for all features (the last dimension), or one for each."""
    if len(numbers) not in (1, x.shape[-1] if x.shape else 1):
        raise ctx.invalid(f"{what} has {len(numbers)} entries for {x.type}")
    array = np.asarray(numbers).astype(x.dtype.numpy)
    return ctx.constant(array.reshape(()) if len(numbers) == 1 else array)


def scaler(ctx: NodeContext) -> Sequence[Value]:
    """(x - offset) * scale"""
    x = as_float(ctx, ctx.input(0))
    offset, scale = ctx.numbers("offset", (0.0,)), ctx.numbers("scale", (1.0,))
    centered = ctx.emit("sub", x, per_feature(ctx, offset, x, "offset"))
    return [ctx.cast(ctx.emit("mul", centered, per_feature(ctx, scale, x, "scale")), DType.F32)]


def normalizer(ctx: NodeContext) -> Sequence[Value]:
    """Each row divided by its norm; rows whose norm is 0 stay. The norm MAX is the greatest element, not of sizes."""
    x, norm = as_float(ctx, ctx.input(0)), ctx.string("norm", "MAX")
    if norm not in ("MAX", "L1", "L2") or not x.shape:
        raise ctx.invalid(f"norm {norm!r} of {x.type}")
    sizes = {"MAX": lambda: x, "L1": lambda: ctx.emit("abs", x), "L2": lambda: ctx.emit("mul", x, x)}[norm]()
    kind = "max" if norm == "MAX" else "sum"
    total = ctx.emit("reduce", sizes, kind=kind, axes=(len(x.shape) - 1,), keepdims=True)
    size = ctx.emit("sqrt", total) if norm == "L2" else total
    divisor = ctx.emit("where", ctx.emit("eq", size, ctx.scalar(0, size)), ctx.scalar(1, size), size)
    return [ctx.cast(ctx.emit("div", x, divisor), DType.F32)]


def imputer(ctx: NodeContext) -> Sequence[Value]:
    """Another number for each feature in place of one that stands for what is missing: NaN, or any."""
    x = ctx.input(0)
    kind = "floats" if x.dtype.is_float else "int64s"
    if not ctx.has(f"imputed_value_{kind}"):
        raise ctx.invalid(f"imputed_value_{kind} is missing for {x.type}")
    if x.dtype.is_float:
        replaced, numbers = ctx.number("replaced_value_float", 0.0), ctx.numbers("imputed_value_floats")
        new = per_feature(ctx, numbers, x, "imputed_value_floats")
    else:
        replaced, integers = ctx.integer("replaced_value_int64", 0), ctx.integers("imputed_value_int64s")
        new = per_feature(ctx, integers, x, "imputed_value_int64s")
    missing = ctx.emit("isnan", x) if np.isnan(replaced) else ctx.emit("eq", x, ctx.scalar(replaced, x))
    return [ctx.emit("where", missing, new, x)]


def binarizer(ctx: NodeContext) -> Sequence[Value]:
    """1 where x is above the threshold, else 0; integers are compared as numbers."""
    x, threshold = ctx.input(0), ctx.number("threshold", 0.0)
    if not x.dtype.is_float:
        above = ctx.emit("gt", x, ctx.scalar(float(np.clip(np.floor(threshold), -(2.0**31), 2.0**31 - 128)), x))
    else:
        above = ctx.emit("gt", x, ctx.scalar(threshold, x))
    return [ctx.cast(above, x.dtype)]


def _column(ctx: NodeContext, name: str) -> np.ndarray:
    """The keys or the values of a LabelEncoder; strings are objects."""
    if ctx.has(f"{name}_tensor"):
        array = ctx.tensor(f"{name}_tensor").reshape(-1)
    elif ctx.has(f"{name}_int64s"):
        array = np.asarray(ctx.integers(f"{name}_int64s"), np.int64)
    elif ctx.has(f"{name}_floats"):
        array = np.asarray(ctx.numbers(f"{name}_floats"), np.float32)
    elif ctx.has(f"{name}_strings"):
        array = np.array(ctx.strings(f"{name}_strings"), object)
    else:
        raise ctx.invalid(f"{ctx.op_type} has no {name}")
    if array.dtype.kind not in "fiuO":
        raise ctx.invalid(f"its {name} are {array.dtype}")
    return array


def label_encoder(ctx: NodeContext) -> Sequence[Value]:
    """The value that belongs to a key, else the default. Of equal keys the first counts; NaN is a key as any.

    The first version has strings, and for each its number.
    """
    x = ctx.input(0)
    if ctx.opset < 2:
        classes = np.array(ctx.strings("classes_strings"), object)
        numbers = np.arange(len(classes))
        keys, values = (classes, numbers) if is_string(ctx, x) else (numbers, classes)
    else:
        keys, values = _column(ctx, "keys"), _column(ctx, "values")
    if len(keys) != len(values) or not len(keys):
        raise ctx.invalid(f"{len(keys)} keys and {len(values)} values")
    return [_looked_up(ctx, x, keys, values)]


def category_mapper(ctx: NodeContext) -> Sequence[Value]:
    """The number of a string, or the string of a number."""
    numbers, names = ctx.integers("cats_int64s"), ctx.strings("cats_strings")
    if len(numbers) != len(names) or not names:
        raise ctx.invalid(f"{len(numbers)} integers and {len(names)} strings")
    columns = np.asarray(numbers, np.int64), np.array(names, object)
    keys, values = reversed(columns) if is_string(ctx, ctx.input(0)) else columns
    return [_looked_up(ctx, ctx.input(0), keys, values)]


def _looked_up(ctx: NodeContext, x: Value, keys: np.ndarray, values: np.ndarray) -> Value:
    if keys.dtype.kind == "O" and is_string(ctx, x):
        place = string_positions(ctx, x, keys.tolist())
    elif not is_string(ctx, x) and keys.dtype.kind != "O" and DType.from_numpy(keys.dtype) is x.dtype:
        place = position(ctx, x, keys)
    else:
        what = "strings" if is_string(ctx, x) else str(x.type)
        raise ctx.invalid(f"keys of {'strings' if keys.dtype.kind == 'O' else keys.dtype} for {what}")
    default = _default(ctx, values)
    if values.dtype.kind == "O":
        return chosen_strings(ctx, place, [*values.tolist(), str(default)])
    return ctx.emit("gather", ctx.constant(np.append(values, np.asarray(default, values.dtype))), place, axis=0)


def _default(ctx: NodeContext, values: np.ndarray) -> float | str:
    if ctx.has("default_tensor"):
        return ctx.tensor("default_tensor").reshape(-1)[0]
    if values.dtype.kind == "O":
        return ctx.string("default_string", "_Unused")
    return ctx.integer("default_int64", -1) if values.dtype.kind in "iu" else ctx.number("default_float", -0.0)


def position(ctx: NodeContext, x: Value, keys: np.ndarray) -> Value:
    """Where each element of x stands first among ``keys``; their number where it is none of them."""
    count = len(keys)
    ctx.guard_constant(count)
    low, high = (0, 0) if keys.dtype.kind == "f" else (int(keys.min()), int(keys.max()))
    if keys.dtype.kind != "f" and high - low < _DENSE_KEYS * count + 64 and low > -(2**62) and high < 2**62:
        table = np.full(high - low + 3, count, np.int32)
        table[keys[::-1].astype(np.int64) - low + 1] = np.arange(count - 1, -1, -1)
        wide = ctx.cast(x, DType.I64)
        place = ctx.emit("sub", ctx.emit("clip", wide, lo=low - 1, hi=high + 1), ctx.scalar(low - 1, wide))
        return ctx.emit("gather", ctx.constant(table), place, axis=0)
    ctx.guard_constant(count * x.type.size)
    column = ctx.reshape(x, (*x.shape, 1))
    equal = ctx.emit("eq", column, ctx.constant(keys.astype(x.dtype.numpy)))
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        equal = ctx.emit("or", equal, ctx.emit("and", ctx.emit("isnan", column), ctx.constant(np.isnan(keys))))
    numbers, none = (ctx.constant(np.asarray(n, np.int32)) for n in (np.arange(count), count))
    number = ctx.emit("where", equal, numbers, none)
    return ctx.emit("reduce", number, kind="min", axes=(len(x.shape),), keepdims=False)


def one_hot_encoder(ctx: NodeContext) -> Sequence[Value]:
    """A new last dimension: 1 at the category, 0 elsewhere. Floats are truncated first.

    A category that is not listed gives zeros, also where ``zeros`` is 0 and ONNX Runtime ends with an error.
    """
    x = ctx.input(0)
    names, cats = ctx.strings("cats_strings", ()), np.asarray(ctx.integers("cats_int64s", ()), np.int64)
    if not len(names if is_string(ctx, x) else cats):
        raise ctx.invalid("no categories of the type of its operand")
    if not ctx.integer("zeros", 1):
        log.warning("%s: a category that is not listed gives zeros, where ONNX Runtime ends with an error", ctx.loc)
    number = ctx.cast(x, DType.I64)
    if is_string(ctx, x):
        number, cats = string_positions(ctx, x, names), np.arange(len(names), dtype=np.int32)
    column = ctx.reshape(number, (*x.shape, 1))
    return [ctx.cast(ctx.emit("eq", column, ctx.constant(cats)), DType.F32)]


def feature_vectorizer(ctx: NodeContext) -> Sequence[Value]:
    """Operands side by side in float32, each cut off or continued by zeros to its number of features."""
    values = ctx.operands()
    dims = ctx.integers("inputdimensions", tuple(value.shape[-1] if value.shape else 1 for value in values))
    if len(dims) != len(values) or any(extent < 0 for extent in dims):
        raise ctx.invalid(f"inputdimensions {list(dims)} for {len(values)} operands")
    ctx.guard_constant(sum(dims))
    columns = []
    for value, extent in zip(values, dims):
        rows = value if len(value.shape) == 2 else ctx.reshape(value, (1, value.type.size))
        column = ctx.cast(rows, DType.F32)
        if extent <= rows.shape[1]:
            column = sliced(ctx, column, [range(rows.shape[0]), range(extent)])
        else:
            missing = extent - rows.shape[1]
            column = ctx.emit("pad", column, before=(0, 0), after=(0, missing), mode="constant", value=0.0)
        columns.append(column)
    return [columns[0] if len(columns) == 1 else ctx.emit("concat", *columns, axis=1)]


def array_feature_extractor(ctx: NodeContext) -> Sequence[Value]:
    """The chosen entries of the last dimension."""
    x, indices = ctx.input(0), ctx.input(1)
    if not x.shape:
        raise ctx.invalid("features of a scalar")
    known, extent = ctx.array(indices), x.shape[-1]
    if known is not None and known.size and not (known.min() >= 0 and known.max() < extent):
        raise ctx.invalid(f"indices {known.min()} to {known.max()} reach outside of {extent} features")
    rows = x if len(x.shape) > 1 else ctx.reshape(x, (1, extent))
    flat = ctx.reshape(indices, (indices.type.size,))
    return [ctx.emit("gather", rows, flat, axis=len(rows.shape) - 1)]


def zip_map(ctx: NodeContext) -> Sequence[Value]:
    """The probabilities as they are: a column for each class in the order of the labels, in place of dictionaries."""
    names = ctx.integers("classlabels_int64s", ()) or ctx.strings("classlabels_strings", ())
    columns = ", ".join(str(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")
    log.warning("%s: ZipMap becomes the tensor of probabilities, a column for each class: %s", ctx.loc, columns)
    return [ctx.input(0)]


RULES: Mapping[str, Rule] = {
    "ai.onnx.ml.ArrayFeatureExtractor": array_feature_extractor,
    "ai.onnx.ml.Binarizer": binarizer,
    "ai.onnx.ml.CategoryMapper": category_mapper,
    "ai.onnx.ml.FeatureVectorizer": feature_vectorizer,
    "ai.onnx.ml.Imputer": imputer,
    "ai.onnx.ml.LabelEncoder": label_encoder,
    "ai.onnx.ml.Normalizer": normalizer,
    "ai.onnx.ml.OneHotEncoder": one_hot_encoder,
    "ai.onnx.ml.Scaler": scaler,
    "ai.onnx.ml.ZipMap": zip_map,
}

STRING_RULES: Mapping[str, Rule] = {
    name: RULES[name] for name in ("ai.onnx.ml.CategoryMapper", "ai.onnx.ml.LabelEncoder", "ai.onnx.ml.OneHotEncoder")
}
