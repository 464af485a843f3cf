"""``--pool``: parts of RAM on the command line, in ``ccml.toml`` and in reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import DIGITS, ccml
from tests.tools import needs

POOLS = ("--pool", "dtcm=3K", "--pool", "sram")


def report(*command: object) -> dict[str, Any]:
    result = ccml(*command, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_compile_and_its_report(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = report("compile", DIGITS, "--target", "cortex-m7", "--emit", "c", "-o", out, *POOLS)
    assert found["options"]["pools"] == {"dtcm": 3072, "sram": None}
    pools = {pool["name"]: pool for pool in found["totals"]["pools"]}
    header = dict(re.findall(r"#define DIGITS_(\w+)_SIZE (\d+)", (out / "digits.h").read_text()))
    for name, pool in pools.items():
        inside = [place for place in found["memory"] if place["pool"] == name]
        assert int(header[name.upper()]) == pool["arena_bytes"] <= pool["ram_bytes"]
        assert max(place["offset"] + place["bytes"] for place in inside) <= pool["ram_bytes"]
        assert set(pool["peak_tensors"]) <= {place["tensor"] for place in inside}
    assert 0 < pools["dtcm"]["ram_bytes"] <= 3072 == pools["dtcm"]["limit_bytes"]
    assert pools["sram"]["limit_bytes"] is None
    assert sum(pool["ram_bytes"] for pool in pools.values()) == found["totals"]["ram_bytes"]
    (arena,) = report("inspect", DIGITS, "--target", "cortex-m7")["totals"]["pools"]
    assert sum(pool["traffic_bytes"] for pool in pools.values()) == arena["traffic_bytes"]


def test_one_arena_is_a_pool_in_the_report() -> None:
    found = report("inspect", DIGITS, "--target", "cortex-m7")
    (pool,) = found["totals"]["pools"]
    assert (pool["name"], pool["limit_bytes"], pool["ram_bytes"]) == ("arena", None, found["totals"]["ram_bytes"])
    assert found["options"]["pools"] == {}


def test_inspect_shows_pools() -> None:
    text = ccml("inspect", DIGITS, "--target", "cortex-m7", *POOLS).stdout
    head = next(line for line in text.splitlines() if line.split() == ["dtcm", "sram"])
    rows = [line for line in text.splitlines() if line.startswith((" 0 |", "0 |"))]
    assert rows[0].index("|", 4) + 1 == head.index("sram")
    for part in (" of dtcm, ", " of sram; ", "read and written in a run", "at its peak"):
        assert part in text


@pytest.mark.parametrize(
    "text", ['pools = ["dtcm=3K", "sram"]', 'pools = ["dtcm=3072", "sram=10MB"]'], ids=["open", "sizes"]
)
def test_pools_in_the_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ccml.toml"
    file.write_text(f'[compile]\ntarget = "cortex-m7"\n{text}\n')
    pools = report("inspect", DIGITS, "--config", file)["options"]["pools"]
    assert list(pools) == ["dtcm", "sram"]
    assert pools["dtcm"] == 3072
    other = report("inspect", DIGITS, "--config", file, "--pool", "ram=1MiB")["options"]["pools"]
    assert other == {"ram": 1 << 20}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["dtcm=lots"], "'lots' is not a number of bytes"),
        (["dtcm="], "'' is not a number of bytes"),
        (["dtcm=-5"], "'-5' is not a number of bytes"),
        (["dtcm=1K", "dtcm=2K"], "'dtcm' is there twice"),
        (["dtcm=1K", "DTCM=2K"], "'DTCM' in capital letters"),
        (["dtcm", "sram"], "'dtcm' has no size"),
        (["=64K"], "'' cannot be the name"),
        (["3d=64K"], "'3d' cannot be the name"),
        (["my-ram=64K"], "'my-ram' cannot be the name"),
        (["register=64K"], "'register' cannot be the name"),
        (["class=64K"], "'class' cannot be the name"),
        (["uint8_t=64K"], "'uint8_t' cannot be the name"),
        (["error=64K"], "'error' cannot be the name"),
        (["Weights"], "'Weights' cannot be the name"),
    ],
)
@pytest.mark.parametrize("command", ["compile", "inspect"])
def test_bad_pools(command: str, options: list[str], complaint: str) -> None:
    result = ccml(command, DIGITS, "--target", "cortex-m7", *(part for text in options for part in ("--pool", text)))
    assert (result.exit_code, complaint in result.stderr) == (2, True), result.stderr


def test_bad_pools_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ccml.toml"
    file.write_text('[compile]\npools = ["dtcm=lots"]\n')
    result = ccml("inspect", DIGITS, "--config", file)
    assert result.exit_code == 2
    assert "compile.pools: 'lots' is not a number of bytes" in result.stderr


def test_what_does_not_fit(tmp_path: Path) -> None:
    result = ccml("compile", DIGITS, "--target", "cortex-m7", "-o", tmp_path / "out", "--pool", "dtcm=100")
    assert result.exit_code == 5
    assert "[E501] the model does not fit into 100 of dtcm" in result.stderr
    assert not (tmp_path / "out").exists()


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
def test_on_an_emulated_board() -> None:
    """What ``verify`` and ``profile`` run is what ``compile`` would write."""
    board = (DIGITS, "--target", "cortex-m7", *POOLS)
    result = ccml("verify", *board, "--samples", 1)
    assert (result.exit_code, "ok: on cortex-m7" in result.stdout) == (0, True), result.stderr
    profile = report("profile", *board)
    assert profile["instructions"] == report("inspect", *board)["totals"]["instructions"]
    assert profile["instructions"] != report("inspect", *board[:3])["totals"]["instructions"]


def test_verify_on_this_machine_has_no_pools(tmp_path: Path) -> None:
    """Those of the file are meant for a target."""
    result = ccml("verify", DIGITS, *POOLS)
    assert (result.exit_code, "belong to --target" in result.stderr) == (2, True)
    file = tmp_path / "ccml.toml"
    file.write_text('[compile]\npools = ["dtcm=100"]\n')
    assert ccml("verify", DIGITS, "--config", file, "--samples", 1).exit_code == 0
