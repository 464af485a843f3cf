"""ONNX's own backend suite, as it is, with a list of what does not pass.

``exclusions.txt`` has a line for each test that ends otherwise than the suite wants: its name, how it ends, and why.
A ``refused`` one ends in an error for people about what is not supported, a ``differs`` one in other numbers than
those published, an ``uncompared`` one in an error of the suite's comparison; where it ends in any other way, and where
it passes, that is a failure.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path

import onnx.backend.test
from ccml.errors import CcmlError, ErrorCode
from onnx.backend.base import Backend

EXCLUSIONS = Path(__file__).with_name("exclusions.txt")
ENDS: Mapping[str, type[Exception]] = {"refused": CcmlError, "differs": AssertionError, "uncompared": TypeError}
UNSUPPORTED = frozenset({ErrorCode.UNSUPPORTED_FEATURE, ErrorCode.UNSUPPORTED_OPERATOR})
_DEVICE = "_cpu"


@cache
def exclusions() -> Mapping[str, tuple[str, str]]:
    """How a test ends, and why, by its name."""
    lines = (line for line in EXCLUSIONS.read_text().splitlines() if line and not line.startswith("#"))
    entries = {name: (how, why) for name, how, why in (line.split(maxsplit=2) for line in lines)}
    assert all(how in ENDS for how, _ in entries.values())
    return entries


def suite_cases(backend: type[Backend], module: str) -> dict[str, type[unittest.TestCase]]:
    """The suite's test cases by name, for the namespace of ``module``."""
    cases = onnx.backend.test.BackendTest(backend, module).test_cases
    for case in cases.values():
        for name in [name for name in vars(case) if name.startswith("test_")]:
            how = exclusions().get(name.removesuffix(_DEVICE))
            if not name.endswith(_DEVICE):
                delattr(case, name)
            elif how is not None:
                setattr(case, name, _excluded(vars(case)[name], *how))
    return cases


def _excluded(test: Callable[..., None], how: str, why: str) -> Callable[..., None]:
    @wraps(test)
    def ends_as_listed(self: unittest.TestCase) -> None:
        with self.assertRaises(ENDS[how], msg=f"it passes now: {why}") as caught:
            test(self)
        if how == "refused":
            assert caught.exception.kind in UNSUPPORTED, caught.exception  # type: ignore[attr-defined]

    return ends_as_listed
