"""``ccml profile``."""

from __future__ import annotations

import json

import pytest

from tests.cli.command_line import DIGITS, ccml
from tests.tools import needs


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
@pytest.mark.parametrize("route", ["c", "llvm"])
def test_counts_beside_predictions(route: str) -> None:
    result = ccml("profile", DIGITS, "--target", "cortex-m4", "--route", route, "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["instructions"] == content["predicted"]
    assert 0 <= content["instructions"] - sum(layer["instructions"] for layer in content["layers"]) < 100
    assert [layer["predicted"] for layer in content["layers"]] == [
        layer["instructions"] for layer in content["layers"]
    ]  # fmt: skip


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
def test_text() -> None:
    result = ccml("profile", DIGITS, "--target", "m7")
    assert result.exit_code == 0, result.stderr
    for part in ("cortex-m7", "block.depthwise", "predicted", "per MAC"):
        assert part in result.stdout


def test_other_targets_are_refused() -> None:
    result = ccml("profile", DIGITS, "--target", "x86")
    assert (result.exit_code, "[E203]" in result.stderr) == (2, True)
