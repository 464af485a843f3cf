"""``ccml profile``."""

from __future__ import annotations

import json
import re

import pytest
from ccml.emit_llvm.jit import host_machine

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


def test_times_on_this_machine() -> None:
    result = ccml("profile", DIGITS, "--json")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    layers = content["layers"]
    assert content["cpu"] == host_machine().cpu.name
    assert sum(layer["macs"] for layer in layers) == content["macs"] > 0
    assert sum(layer["share"] for layer in layers) == pytest.approx(1)
    assert all(layer["microseconds"] > 0 for layer in layers)
    timed = [layer for layer in layers if layer["speed"] is not None]
    assert timed and all(layer["macs"] and layer["generator"] for layer in timed)
    for layer in timed:
        assert layer["speed"] == pytest.approx(2e6 * layer["macs"] / layer["microseconds"])
        assert layer["roof_share"] == pytest.approx(layer["speed"] / content["roofs"]["f32"])


def test_text_and_bars_of_times() -> None:
    result = ccml("profile", DIGITS, "--bars")
    assert result.exit_code == 0, result.stderr
    for part in ("least times on", "of roof", "G/s", "us at least"):
        assert part in result.stdout
    bars = re.findall(r"^ *\d+ (#+)$", result.stdout, re.MULTILINE)
    assert max(map(len, bars)) == 60


def test_this_machine_has_one_route() -> None:
    result = ccml("profile", DIGITS, "--route", "c")
    assert (result.exit_code, "[E203]" in result.stderr) == (2, True)


def test_other_targets_are_refused() -> None:
    result = ccml("profile", DIGITS, "--target", "wasm")
    assert (result.exit_code, "[E203]" in result.stderr) == (2, True)
