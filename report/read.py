"""report.json -> :class:`Report`. The file may come from anybody: every field is checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..errors import CcmlError, ErrorCode
from .schema import REPORT_FILE, SCHEMA, Firmware, LibraryTotals, Report

MOST_BYTES = 64 * 1024 * 1024
"""The size of a report that is read."""
MOST_LAYERS = 20_000
MOST_REPORTS = 64
"""Reports that one file may list."""

_LARGEST = 2**63


class _WrongError(Exception):
    """What is wrong with a value, and where: ``layers[3].macs``."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason


def read_reports(path: Path) -> list[tuple[Path, Report]]:
    """The report in the file ``path``, or where it lists others (several models, linked ones, several ABIs) each of
    these, with their files. A folder stands for its ``report.json``.

    Raises ``BAD_INPUT`` for what is no report of ccml, is damaged, or has another version of the schema.
    """
    file = path / REPORT_FILE if path.is_dir() else path
    content = _read(file)
    listed = content.get("models", content.get("reports", content.get("linked")))
    if listed is None:
        return [(file, _checked(file, content))]
    _check_schema(file, content)
    if not isinstance(listed, dict) or not 0 < len(listed) <= MOST_REPORTS:
        raise _bad(file, f"it does not list 1 to {MOST_REPORTS} reports")
    found = [_beside(file, name, entry) for name, entry in listed.items()]
    return [(each, _checked(each, _read(each))) for each in found]


def read_firmware(path: Path) -> Firmware | None:
    """The library whose models the report in the file or folder ``path`` lists; ``None`` where it lists none that were
    linked. Raises ``BAD_INPUT`` as :func:`read_reports` does."""
    file = path / REPORT_FILE if path.is_dir() else path
    content = _read(file)
    if "linked" not in content:
        return None
    _check_schema(file, content)
    try:
        model = _typed(dict, content.get("model"), "model")
        totals = _value(LibraryTotals, content.get("totals"), "totals")
        return Firmware(_typed(str, model.get("name"), "model.name"), totals)
    except _WrongError as wrong:
        raise _bad(file, f"{wrong.where} {wrong.reason}") from wrong


def _beside(file: Path, name: str, entry: object) -> Path:
    """The path ``entry``, which leads to nowhere but the folder of ``file`` or below."""
    pure = PurePosixPath(entry) if isinstance(entry, str) else None
    plain = pure is not None and not pure.is_absolute() and ".." not in pure.parts and "\\" not in str(pure)
    if pure is not None and plain and ":" not in str(pure) and "\0" not in str(pure):
        found = file.parent / pure
        if found.resolve().is_relative_to(file.parent.resolve()):
            return found
    raise _bad(file, f"the report of '{name}' is outside of its folder")


def _read(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
    except OSError as problem:
        raise _bad(file, f"cannot read the file: {problem.strerror or problem}") from problem
    if len(text) > MOST_BYTES:
        raise _bad(file, f"it has more than {MOST_BYTES // 1024**2} MiB")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        reason = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise _bad(file, f"not JSON: {reason}") from problem
    if not isinstance(content, dict) or "schema" not in content:
        raise _bad(file, "this is no report of ccml: it has no field 'schema'")
    return content


def _check_schema(file: Path, content: Mapping[str, Any]) -> None:
    schema = content["schema"]
    if schema != SCHEMA:
        shown = schema if isinstance(schema, int) else json.dumps(schema)[:40]
        hint = "compile the model again, or read the report with the ccml that wrote it"
        raise _bad(file, f"it has version {shown} of the format, and this ccml reads version {SCHEMA}", hint)


def _checked(file: Path, content: Mapping[str, Any]) -> Report:
    _check_schema(file, content)
    try:
        _check_count(content)
        # What inspect --json prints has no files.
        report: Report = _value(Report, {"files": [], **content}, "")
        _check_numbers(report)
    except _WrongError as wrong:
        raise _bad(file, f"{wrong.where} {wrong.reason}") from wrong
    return report


def _check_count(content: Mapping[str, Any]) -> None:
    layers = content.get("layers")
    if isinstance(layers, list) and len(layers) > MOST_LAYERS:
        raise _WrongError("layers", f"are more than {MOST_LAYERS:,}")


def _check_numbers(report: Report) -> None:
    """Numbers of layers that mean each other."""
    count = len(report.layers)
    for place, layer in enumerate(report.layers):
        if layer.index != place:
            raise _WrongError(f"layers[{place}].index", f"is {layer.index}")
    for place, entry in enumerate(report.memory):
        if not entry.first <= entry.last < max(count, 1):
            raise _WrongError(f"memory[{place}]", f"lives from {entry.first} to {entry.last}, of {count} layers")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(kind: Any, value: object, where: str) -> Any:
    """``value`` as the annotation ``kind`` says. Raises :class:`_WrongError`."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _one_of(get_args(kind), value, where)
    if origin is list:
        inner = get_args(kind)[0]
        return [_value(inner, each, f"{where}[{i}]") for i, each in enumerate(_typed(list, value, where))]
    if origin is dict:
        inner = get_args(kind)[1]
        return {key: _value(inner, each, f"{where}.{key}") for key, each in _typed(dict, value, where).items()}
    if is_dataclass(kind):
        return kind(**dict(_fields(kind, _typed(dict, value, where), where)))  # type: ignore[operator]
    return value if kind is object else _scalar(kind, value, where)


def _one_of(kinds: tuple[Any, ...], value: object, where: str) -> Any:
    if value is None and NoneType in kinds:
        return None
    wanted = [kind for kind in kinds if kind is not NoneType]
    for kind in wanted[:-1]:
        try:
            return _value(kind, value, where)
        except _WrongError:
            continue
    return _value(wanted[-1], value, where)


def _fields(kind: Any, value: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    """The fields of a dataclass; others, of newer versions of ccml, are left out."""
    for each in fields(kind):
        name = f"{where}.{each.name}" if where else each.name
        if each.name in value:
            yield each.name, _value(_hints(kind)[each.name], value[each.name], name)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise _WrongError(name, "is missing")


_NAMES = {int: "a whole number, at least 0", float: "a number", str: "text", bool: "true or false",
          list: "an array", dict: "an object"}  # fmt: skip


def _typed(kind: type, value: object, where: str) -> Any:
    if not isinstance(value, kind):
        raise _WrongError(where or "the file", f"is not {_NAMES[kind]}")
    return value


def _scalar(kind: type, value: object, where: str) -> object:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if abs(value) < _LARGEST:  # neither infinite nor NaN, nor too large for a float
            return float(value)
    elif kind is int and isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value < _LARGEST:
            return value
    elif kind in (str, bool) and isinstance(value, kind):
        return value
    raise _WrongError(where, f"is not {_NAMES[kind]}")


def _bad(file: Path, reason: str, hint: str | None = None) -> CcmlError:
    hint = hint or "give a report.json that 'ccml compile' wrote"
    return CcmlError(ErrorCode.BAD_INPUT, reason, loc=str(file), hint=hint)
