"""The same model and options give the same bytes: in another process, under other hash seeds, in another order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ccml
import pytest
from ccml.artifact.emit import Emit

from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

TARGETS = ("x86", "arm", "android")
pytestmark = [needs_models, needs("gcc", "ld.lld")]


@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_same_bytes(model: Model, tmp_path: Path) -> None:
    """In this process, which has compiled much else, and in a fresh one with another hash seed."""
    for target in TARGETS:
        compile_everything(model, target, tmp_path / "here" / target)
    script = (
        "import sys; from pathlib import Path; from tests.artifacts import test_determinism as test\n"
        "test.compile_in_reverse(sys.argv[1], Path(sys.argv[2]))\n"
    )
