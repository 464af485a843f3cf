"""Writes docs/api.md, the reference of the Python package, from the signatures and docstrings of its public names.

``make docs`` runs it; ``tests/test_docs.py`` fails where the page is not what it would write.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import ccml
from ccml import ErrorCode

PAGE = Path(__file__).with_name("api.md")

_HEAD = """\
# The Python package

<!-- Made by `make docs` from the docstrings; edit these. -->

`import ccml` loads nothing but names; the compiler is loaded when one of them is first used. Type checkers see the
annotations; `PathLike` is a `str` or a `pathlib.Path`. Everything that can be wrong with a model, a file or an option
raises `CcmlError`.

    import ccml

    model = ccml.load("kws.onnx")
    scores = model.run(features)["scores"]
    ccml.compile("kws.onnx", "cortex-m4", "out", goal=ccml.Goal(ccml.Optimize.SIZE))
    options = ccml.QuantizeOptions(range_method=ccml.RangeMethod.MIN_MAX)
    ccml.quantize("kws.onnx", ccml.Quantization("typical.npz", options), "kws_int8.onnx")
"""

_SECTIONS = {
    "Functions": (
        "compile", "link", "load", "quantize", "verify", "verify_log", "profile", "time_layers", "tune",
        "read_decisions", "read_reports",
        "read_firmware", "write_page", "compile_model", "find_machine",
    ),
    "How a model is read and compiled": (
        "ModelOptions", "FloatFormat", "Range", "Goal", "Budget", "Optimize", "Emit", "ArtifactOptions",
    ),
    "How a model is quantized": (
        "Quantization", "QuantizeOptions", "Mode", "RangeMethod", "LayerOptions", "Precision", "ImageOptions",
    ),
    "Results": (
        "Result", "Artifact", "Library", "Firmware", "Report", "LoadedModel", "StateMemory", "QuantizedSource",
        "Accuracy", "Verification",
        "BoardCheck", "Profile", "TimedProfile", "Tuning",
    ),
    "Errors": ("CcmlError", "ErrorCode", "ExitCode"),
}  # fmt: skip

_OF_RESULTS = ("Report", "Accuracy", "Verification", "BoardCheck", "Profile", "TimedProfile", "Tuning")
"""The results whose parts are described as well."""

_WIDTH = 120


def api_page() -> str:
    """The text of the page. Raises ``ValueError`` where a public name is in no section, or has no docstring."""
    listed = sorted(name for names in _SECTIONS.values() for name in names)
    if listed != sorted(ccml.__all__):
        raise ValueError(f"in a section or public, but not both: {set(listed) ^ set(ccml.__all__)}")
    parts = [_HEAD]
    for title, names in _SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in names:
            thing = getattr(ccml, name)
            parts += (_class if isinstance(thing, type) else _function)(f"ccml.{name}", thing)
    parts.append("## Parts of the results\n")
    described = {getattr(ccml, name) for name in ccml.__all__}
    for name in _OF_RESULTS:
        for part in _inner_types(getattr(ccml, name)):
            if part not in described:
                described.add(part)
                parts += _class(part.__name__, part)
    return "\n".join(parts)


def _inner_types(cls: type) -> Iterator[type]:
    """The dataclasses that the fields of a dataclass hold, each before those that it holds."""
    for hint in get_type_hints(cls).values():
        for part in (hint, *get_args(hint)):
            if isinstance(part, type) and is_dataclass(part):
                yield part
                yield from _inner_types(part)


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"### class {name}\n"
    name = cls.__name__
    yield _markdown(_docstring(name, cls))
    if issubclass(cls, Enum):
        yield "| member | value |\n|---|---|\n" + "".join(f"| `{item.name}` | {_member(item)} |\n" for item in cls)
        return
    if is_dataclass(cls):
        yield "| field | type | default |\n|---|---|---|\n" + "".join(_row(item) for item in fields(cls))
    for method, content in vars(cls).items():
        if method.startswith("_"):
            continue
        if isinstance(content, property):
            yield f"#### {name}.{method}\n"
            yield _markdown(_docstring(f"{name}.{method}", content))
        elif isinstance(content, staticmethod) or inspect.isfunction(content):
            yield f"#### {name}.{method}\n"
            yield from _body(f"{name}.{method}", getattr(cls, method))


def _function(name: str, function: Any) -> Iterator[str]:
    yield f"### {name}\n"
    yield from _body(name, function)


def _body(name: str, function: Any) -> Iterator[str]:
    yield _indented(_signature(name.rpartition(".")[2], function))
    yield _markdown(_docstring(name, function))


def _docstring(name: str, thing: Any) -> str:
    text = thing.__doc__
    if not text or text.startswith(f"{name}("):  # what the dataclass decorator makes up
        raise ValueError(f"{name} has no docstring")
    return inspect.cleandoc(text)


def _signature(name: str, function: Any) -> str:
    """On one line, or with a parameter on each."""
    signature = inspect.signature(function)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    signature = signature.replace(parameters=[p.replace(default=_Default.of(p.default)) for p in kept])
    text = name + str(signature).replace("'", "")
    if len(text) + 4 <= _WIDTH:
        return text
    words = [str(p).replace("'", "") for p in signature.parameters.values()]
    keyword = next((i for i, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY), None)
    if keyword is not None:
        words.insert(keyword, "*")
    return "\n".join((f"{name}(", *(f"    {word}," for word in words), f") -> {signature.return_annotation}"))


class _Default:
    """A default value that prints as a reader would write it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    @staticmethod
    def of(value: Any) -> Any:
        return value if value is inspect.Parameter.empty else _Default(_value(value))


def _value(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value) if type(value).__str__ is Enum.__str__ else f"{type(value).__name__}.{value.name}"
    if is_dataclass(value) and not isinstance(value, type):
        changed = [
            f"{item.name}={_value(getattr(value, item.name))}"
            for item in fields(value)
            if getattr(value, item.name) != _default(item)
        ]
        return f"{type(value).__name__}({', '.join(changed)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' if len(value) == 1 else ''})"
    return repr(value).replace("'", '"')


def _default(item: Field[Any]) -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default


def _row(item: Field[Any]) -> str:
    default = _default(item)
    shown = "" if default is MISSING else f"`{_value(default)}`"
    kind = str(item.type).replace("|", "\\|")
    return f"| `{item.name}` | `{kind}` | {shown} |\n"


def _member(item: Enum) -> str:
    """Errors have a code, the exit code that belongs to it, and a meaning."""
    if isinstance(item, ErrorCode):
        return f"`{item.code}`, `{item.exit_code.value}`: {item.meaning}"
    return ", ".join(f"`{getattr(part, 'value', part)}`" for part in (_parts(item)))


def _parts(item: Enum) -> tuple[Any, ...]:
    return item.value if isinstance(item.value, tuple) else (item.value,)


def _markdown(text: str) -> str:
    """A docstring as Markdown: code in single backticks, names without roles, examples indented."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    paragraphs = text.split("\n\n")
    return "\n\n".join(_indented(part).rstrip() if part.startswith(">>>") else part for part in paragraphs) + "\n"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
