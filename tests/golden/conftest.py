"""``pytest tests/golden --bless`` writes the files anew."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="take what the compiler writes now for right")
