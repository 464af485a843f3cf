"""What the TOML file beside the C of a custom operator says: ``swish.toml`` for ``swish.c``.

    function = "swish"                    # by default the operator's name
    inputs = ["x", "scale?"]              # names for expressions; with ? one that a node may leave out
    workspace = "4 * x.shape[-1]"         # bytes of memory for the time of a call
    macs = "2 * x.size"                   # multiply-accumulates, for the report

    [attributes]                          # defaults
    alpha = 1.0

    [[outputs]]
    type = "x"                            # the element type of an input, or float32, int8, ...
    shape = ["x.shape[0]", "2 * x.shape[1]"]
    in_place = "x"                        # may be given the memory of that input
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from onnx import TensorProto, helper

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType, TensorType
from ..record import record
from .expressions import Number, evaluate

AttributeValue = Any
"""An int, a float, bytes, a list of these, or an array."""

_KEYS = ("function", "inputs", "attributes", "outputs", "workspace", "macs")
_OUTPUT_KEYS = ("type", "shape", "in_place")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_WORKSPACE = 1 << 31
_ELEMENT_TYPES = frozenset(TensorProto.DataType.keys())


@record
class Output:
    """``type`` names an input or an ONNX type, ``shape`` is one expression that is a list, or several."""

    type: str
    shape: str | tuple[str, ...]
    in_place: str | None = None


@record
class Signature:
    """``inputs`` are ``None`` where no file says how many there are, and ``outputs`` where none says how they look."""

    file: str
    function: str | None = None
    inputs: tuple[str, ...] | None = None
    optional: frozenset[str] = frozenset()
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    outputs: tuple[Output, ...] | None = None
    workspace: str | None = None
    macs: str | None = None

    def output_types(
        self, types: Sequence[TensorType | None], attributes: Mapping[str, AttributeValue], loc: str
    ) -> tuple[TensorType, ...]:
        """The types of all outputs. Raises ``SHAPE_MISMATCH`` for ``loc`` where an expression has no value."""
        assert self.outputs is not None
        names = self._names(types, attributes)
        return tuple(
            TensorType(self._dtype(output.type, types, loc), self._shape(output.shape, names, loc))
            for output in self.outputs
        )

    def number(
        self, key: str, types: Sequence[TensorType | None], attributes: Mapping[str, AttributeValue], loc: str
    ) -> int | None:
        """The value of ``workspace`` or ``macs``; ``None`` where the file has none."""
        text = {"workspace": self.workspace, "macs": self.macs}[key]
        if text is None:
            return None
        found = self._evaluated(key, text, self._names(types, attributes), loc)
        if not isinstance(found, int) or not 0 <= found < MAX_WORKSPACE << 31:
            self._fail(f"{key} = {text!r} is {found!r}, not a number", loc)
        if key == "workspace" and found > MAX_WORKSPACE:
            self._fail(f"{key} is {found} bytes", loc)
        return found

    def _dtype(self, name: str, types: Sequence[TensorType | None], loc: str) -> DType:
        if name in (self.inputs or ()):
            found = types[(self.inputs or ()).index(name)]
            if found is None:
                self._fail(f"the type of an output is that of {name}, which is left out", loc)
            return found.dtype
        return element_type(name)

    def _shape(self, shape: str | tuple[str, ...], names: Mapping[str, Number | None], loc: str) -> tuple[int, ...]:
        parts = (shape,) if isinstance(shape, str) else shape
        found: list[int] = []
        for part in parts:
            value = self._evaluated("shape", part, names, loc)
            if not isinstance(value, (int, list)):
                self._fail(f"shape {part!r} is {value!r}", loc)
            found += value if isinstance(value, list) else [value]
        if any(extent < 0 for extent in found) or prod(found) >= 1 << 40:
            self._fail(f"the shape of an output is {found}", loc)
        return tuple(found)

    def _evaluated(self, key: str, text: str, names: Mapping[str, Number | None], loc: str) -> Number:
        try:
            return evaluate(text, names)
        except ValueError as problem:
            self._fail(f"{key} = {text!r}: {problem}", loc)

    def _names(
        self, types: Sequence[TensorType | None], attributes: Mapping[str, AttributeValue]
    ) -> dict[str, Number | None]:
        found: dict[str, Number | None] = {}
        for name, type_ in zip(self.inputs or (), types):
            found[f"{name}.present"] = int(type_ is not None)
            found[f"{name}.shape"] = None if type_ is None else list(type_.shape)
            found[f"{name}.rank"] = None if type_ is None else type_.rank
            found[f"{name}.size"] = None if type_ is None else type_.size
        for name, value in attributes.items():
            if isinstance(value, bytes):
                found[name] = value.decode("utf-8", "replace")
            elif isinstance(value, (int, float)) or (isinstance(value, list) and all(type(v) is int for v in value)):
                found[name] = value
        return found

    def _fail(self, reason: str, loc: str) -> NoReturn:
        raise CcmlError(ErrorCode.SHAPE_MISMATCH, f"{self.file}: {reason}", loc=loc)


def element_type(name: str) -> DType:
    """The type of an ONNX name in small letters, ``float32`` and ``float64`` besides. Raises :class:`KeyError`."""
    spelled = {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper())
    if spelled in ("UNDEFINED", "STRING") or spelled not in _ELEMENT_TYPES:
        raise KeyError(name)
    return DType.from_numpy(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(spelled)))


def read_signature(source: Path) -> Signature:
    """The signature in the TOML file beside ``source``; an empty one where there is no such file. Raises ``BAD_OPTION``
    that names the key."""
    path = source.with_suffix(".toml")
    if not path.is_file():
        return Signature(path.name)
    try:
        with path.open("rb") as stream:
            content = tomllib.load(stream)
    except OSError as problem:
        raise _bad(path, f"cannot read the file: {problem.strerror or problem}") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _bad(path, f"not TOML: {problem}") from problem
    return _Parser(path, content).signature()


class _Parser:
    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self._path, self._content = path, content

    def signature(self) -> Signature:
        content = self._content
        self._check_keys(content, _KEYS, "")
        listed = self._of(content, "inputs", list, None)
        named = None if listed is None else [self._name("inputs", str(name).removesuffix("?")) for name in listed]
        if named is not None and len(set(named)) < len(named):
            raise _bad(self._path, f"inputs {named} have a name twice")
        attributes = self._of(content, "attributes", dict, {})
        outputs = self._of(content, "outputs", list, None)
        function = self._of(content, "function", str, None)
        return Signature(
            self._path.name,
            None if function is None else self._name("function", function),
            None if named is None else tuple(named),
            frozenset(str(name)[:-1] for name in listed or () if str(name).endswith("?")),
            {name: self._default(name, value) for name, value in attributes.items()},
            None if outputs is None else tuple(self._output(output, named or []) for output in outputs),
            self._expression(content, "workspace"),
            self._expression(content, "macs"),
        )

    def _output(self, table: Any, inputs: Sequence[str]) -> Output:
        if not isinstance(table, dict):
            raise _bad(self._path, "'outputs' is not an array of tables", "[[outputs]] begins one")
        self._check_keys(table, _OUTPUT_KEYS, "outputs.")
        type_ = self._of(table, "type", str, inputs[0] if inputs else "float32")
        if type_ not in inputs:
            try:
                element_type(type_)
            except KeyError:
                hint = f"an input ({', '.join(inputs)}), or float32, int8, ..."
                raise _bad(self._path, f"there is no type '{type_}'", hint) from None
        shape = table.get("shape")
        if isinstance(shape, list) and all(type(part) in (str, int) for part in shape):
            shape = tuple(map(str, shape))
        elif not isinstance(shape, str):
            raise _bad(self._path, "an output needs a shape", 'such as shape = "x.shape", or ["x.shape[0]", 4]')
        in_place = self._of(table, "in_place", str, None)
        if in_place is not None and in_place not in inputs:
            raise _bad(self._path, f"in_place = '{in_place}' names no input", f"inputs are {', '.join(inputs)}")
        return Output(type_, shape, in_place)

    def _expression(self, table: Mapping[str, Any], key: str) -> str | None:
        value = table.get(key)
        if value is not None and type(value) not in (str, int):
            raise _bad(self._path, f"'{key}' is not an expression")
        return None if value is None else str(value)

    def _default(self, name: str, value: Any) -> AttributeValue:
        items = value if isinstance(value, list) else [value]
        if not all(type(item) in (int, float, str) for item in items) or len({type(item) for item in items}) > 1:
            raise _bad(self._path, f"the default of '{name}' is not a number, a text, or several of one kind")
        plain = [item.encode("utf-8") if isinstance(item, str) else item for item in items]
        return plain if isinstance(value, list) else plain[0]

    def _name(self, key: str, name: str) -> str:
        if _IDENTIFIER.fullmatch(name) is None:
            raise _bad(self._path, f"'{name}' in '{key}' is no name", "letters, digits and underscores")
        return name

    def _of(self, table: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
        value = table.get(key, default)
        if value is not default and not isinstance(value, kind):
            raise _bad(self._path, f"'{key}' is not a {'table' if kind is dict else 'text' if kind is str else 'list'}")
        return value

    def _check_keys(self, table: Mapping[str, Any], known: Sequence[str], prefix: str) -> None:
        for key in table:
            if key not in known:
                raise _bad(self._path, f"unknown key '{prefix}{key}'", f"known are {', '.join(known)}")


def _bad(path: Path, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=str(path), hint=hint)
