"""Jinja2 as the templates of packages and bindings use it: the engine and its filters."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from ..emit_c.contract import Contract
from ..emit_c.symbols import comment_text
from ..ir.c_spelling import c_string
from .sample import words

if TYPE_CHECKING:
    import jinja2

_LINE = 96


def make_engine(package: str) -> jinja2.Environment:
    """An engine for the files ``templates/*.j2`` of a package of ccml, whose ending is left out in names. What is
    missing in a context is an error. Jinja2 is imported by those alone who write packages or bindings."""
    import jinja2

    def template(name: str) -> str:
        file = name if name.endswith(".j2") else f"{name}.j2"
        return (files(package) / "templates" / file).read_text(encoding="utf-8")

    engine = jinja2.Environment(
        loader=jinja2.FunctionLoader(template), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    engine.filters |= _FILTERS
    return engine


def memory_name(number: int, contract: Contract) -> str:
    """The variable of the pool of that number, or of the memory of states behind the pools."""
    return "state" if number == len(contract.pools) else f"pool_{number}"


def c_words(numbers: Sequence[int]) -> str:
    """The initializer of an array of words."""
    lines, line = [], ""
    for number in numbers:
        text = f"{number:#x}u,"
        if len(line) + len(text) + 1 > _LINE:
            lines.append(line)
            line = ""
        line += f" {text}"
    return "\n".join(f" {each}" for each in [*lines, line])


def markdown(text: str) -> str:
    """A name from the model in a table, as it is."""
    flat = re.sub(r"[\x00-\x1f\x7f]", " ", comment_text(text))
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", flat)


def _spoken(text: str) -> str:
    """A name from the model as the application prints it: on one line, which is none of the protocol."""
    return comment_text(text).replace("ccml:", "ccml")


def _status(text: str) -> str:
    """A code of the header as the value of an enumeration: ``ERROR_NULL`` is ``error_null``."""
    return text.lower()


def _prefixed(prefix: str, text: str) -> str:
    return "\n".join(f"{prefix} {line}".rstrip() for line in text.splitlines())


_FILTERS = {
    "memory_name": memory_name,
    "prefixed_by": lambda text, prefix: f"{prefix}{text}",
    "coded": lambda text: f"`{text}`",
    "c_words": c_words,
    "words": words,
    "markdown": markdown,
    "comment": comment_text,
    "c_string": c_string,
    "spoken": _spoken,
    "status": _status,
    "tojson": lambda value: json.dumps(list(value) if isinstance(value, tuple) else value),
    "hashes": lambda text: _prefixed("#", text),
    "slashes": lambda text: _prefixed("//", text),
    "semicolons": lambda text: _prefixed(";", text),
}
"""What templates do to text besides Jinja's own filters."""
