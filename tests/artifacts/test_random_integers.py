"""A slice of the random integer graphs on boards; ``python -m tests.artifacts.random_integers`` runs any number."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.targets import select

from tests.artifacts.random_integers import BOARDS, batch, failures
from tests.tools import needs


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("board", BOARDS)
def test_same_bytes(board: str, tmp_path: Path) -> None:
    assert failures(batch(range(12)), select(board), tmp_path) == []
