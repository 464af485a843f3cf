"""What the data of targets have to agree with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ccml.emulation.driver import DRIVER_FOLDER
from ccml.targets import TARGETS, Abi

ABIS = [pytest.param(abi, id=f"{target.name}-{abi.name}") for target in TARGETS for abi in target.abis]
TOOLS = Path(__file__).parents[2] / ".ci" / "tools"


@pytest.mark.parametrize("abi", ABIS)
def test_an_environment_has_its_files(abi: Abi) -> None:
    names = ("main.c", *abi.environment.driver, *filter(None, (abi.environment.loader,)))
    assert [name for name in names if not (DRIVER_FOLDER / name).is_file()] == []


@pytest.mark.parametrize("abi", ABIS)
def test_continuous_integration_installs_the_tools(abi: Abi) -> None:
    installed = set(re.findall(r"[\w.+-]+", TOOLS.read_text()))
    tools = (abi.gcc, abi.environment.compiler, abi.environment.emulator)
    assert {package for tool in tools if tool is not None for package in tool.install.split()[2:]} <= installed


def test_names_are_distinct() -> None:
    names = [name for target in TARGETS for name in (target.name, *target.aliases)]
    assert len(names) == len(set(names))
