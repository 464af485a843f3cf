"""Helpers of the tests that are not about ccml."""

from __future__ import annotations

import shutil

import pytest


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skips a test where a program that it runs is not installed."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing or tools)}")
