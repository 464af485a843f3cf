"""Custom operators as the user gives them: the file with their C, the TOML beside it, and their meaning in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..record import record
from .signature import Signature, read_signature
from .source import has_function, read_source

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@record
class CustomOperator:
    """``name`` is ``domain::Name``. ``code`` is the C of the file ``file``, which defines ``function``; ``meaning``
    says where the Python function is, or is empty."""

    name: str
    file: str
    code: str
    function: str
    signature: Signature
    meaning: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Domain and name, as nodes have them."""
        domain, _, name = self.name.rpartition("::")
        return ("" if domain == "ai.onnx" else domain), name


def load_operators(
    files: Mapping[str, str | Path], meanings: Mapping[str, str]
) -> dict[tuple[str, str], CustomOperator]:
    """The operators by domain and name. ``files`` gives the C file of each ``domain::Name``, ``meanings`` a Python
    function, ``module:function`` or ``file.py:function``. Raises ``BAD_OPTION`` where a name or a file cannot be used.
    """
    for name in meanings:
        if name not in files:
            hint = f"--custom-op {name}=FILE.c gives it"
            raise CcmlError(ErrorCode.BAD_OPTION, f"there is a Python function for {name}, but no C", hint=hint)
    loaded = (_load(name, Path(path), meanings.get(name, "")) for name, path in files.items())
    return {operator.key: operator for operator in loaded}


def _load(name: str, path: Path, meaning: str) -> CustomOperator:
    domain, colons, short = name.rpartition("::")
    if not colons or not domain or not short:
        hint = "com.acme::Swish=swish.c; ai.onnx is ONNX's own domain"
        raise CcmlError(ErrorCode.BAD_OPTION, f"'{name}' is not of the form DOMAIN::NAME", hint=hint)
    signature = read_signature(path)
    function = signature.function or short
    if _IDENTIFIER.fullmatch(function) is None:
        hint = f"function = \"name\" in {signature.file} says what it is called"
        raise CcmlError(ErrorCode.BAD_OPTION, f"no C function can have the name '{function}'", loc=str(path), hint=hint)
    code = read_source(path)
    if not has_function(code, function):
        hint = f"void {function}(...) has to be defined there; or say function = \"name\" in {signature.file}"
        raise CcmlError(
            ErrorCode.BAD_OPTION, f"the file defines no function '{function}'", loc=str(path), hint=hint
        )
    if meaning and re.fullmatch(r".+:[A-Za-z_]\w*", meaning) is None:
        hint = f"--custom-op-python {name}=MODULE:FUNCTION or =FILE.py:FUNCTION"
        raise CcmlError(ErrorCode.BAD_OPTION, f"'{meaning}' names no Python function", hint=hint)
    return CustomOperator(name, path.name, code, function, signature, meaning)
