"""What each way to machine code takes: as a linker and GCC say themselves."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.report.schema import Route
from onnx import TensorProto, helper, numpy_helper, save

from tests.artifacts.commands import make, run
from tests.cli.command_line import ccml as run_ccml
from tests.tools import needs

GCC = "arm-none-eabi-gcc"
FLAGS = {"cortex-m0plus": ["-mcpu=cortex-m0plus"], "cortex-m4": ["-mcpu=cortex-m4", "-mfloat-abi=hard"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float layer with a division: calls of the run-time library on cores without FPU."""
    weights = np.random.default_rng(2).standard_normal((24, 16)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Sigmoid", ["t"], ["y"])]
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in (("x", 24), ("y", 16))]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], [numpy_helper.from_array(weights, "w")])
    path = tmp_path_factory.mktemp("routes") / "net.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def linked_bytes(folder: Path, target: str) -> int:
    """What a linker makes of the library and of what it needs."""
    symbols = ["-Wl,-e,net_run", "-Wl,-u,net_run", "-Wl,--gc-sections"]
    run(GCC, *FLAGS[target], "-mthumb", "-nostdlib", *symbols, folder / "libnet.a", "-lgcc", "-o", folder / "linked")
    listed = run("arm-none-eabi-size", "-B", folder / "linked").splitlines()[1].split()
    return int(listed[0]) + int(listed[1])


@needs(GCC, "make")
@pytest.mark.parametrize("target", FLAGS)
def test_flash_and_stack_of_both_routes(model: Path, target: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    totals = ccml.compile(model, target, folder).artifacts[0].report.totals
    llvm, c = totals.routes["llvm"], totals.routes["c"]
    without_fpu = target == "cortex-m0plus"
    assert bool(llvm.helpers) == bool(c.helpers) == without_fpu
    for route in (llvm, c):
        assert ((route.helper_bytes or 0) > 500) == without_fpu
        assert sum(route.sections.values()) == route.flash_bytes
    assert about(llvm.flash_bytes, linked_bytes(folder, target))
    (folder / "libnet.a").unlink()
    make(folder, "CFLAGS=-fstack-usage -ffunction-sections -fdata-sections")
    assert about(c.flash_bytes, linked_bytes(folder, target))
    frames = stack_usage(folder)
    assert c.stack_bytes is not None and c.stack_bytes >= frames.pop("net_run") + max(frames.values(), default=0)
    assert totals.flash_bytes == max(llvm.flash_bytes, c.flash_bytes)
    assert totals.stack_bytes == max(llvm.stack_bytes or 0, c.stack_bytes)
    assert totals.flash_route is not None and totals.routes[totals.flash_route].flash_bytes == totals.flash_bytes
    assert totals.stack_route is not None and totals.routes[totals.stack_route].stack_bytes == totals.stack_bytes
    assert totals.costs_route == "llvm"


@pytest.mark.parametrize(("target", "is_exact"), [("cortex-m0plus", True), ("cortex-m4", False)])
def test_cycles_have_a_range_where_the_sources_leave_one(
    model: Path, target: str, is_exact: bool, tmp_path: Path
) -> None:
    totals = ccml.compile(model, target, tmp_path / "out").artifacts[0].report.totals
    assert totals.cycles is not None and totals.cycles_low is not None and totals.cycles_high is not None
    assert totals.cycles_low <= totals.cycles <= totals.cycles_high
    assert (totals.cycles_low == totals.cycles_high) == is_exact


def test_no_cycles_where_no_table_is_known(model: Path, tmp_path: Path) -> None:
    totals = ccml.compile(model, "cortex-m7", tmp_path / "out").artifacts[0].report.totals
    assert totals.instructions is not None
    assert (totals.cycles, totals.cycles_low, totals.cycles_high) == (None, None, None)


def about(found: int, linked: int) -> bool:
    """But for the padding of sections, and for code that GCC arranges otherwise without sections for functions."""
    return abs(found - linked) <= 0.02 * linked


def stack_usage(folder: Path) -> dict[str, int]:
    """The frames of the model's functions by name, as GCC tells them."""
    lines = [line.split("\t") for file in (folder / "build").glob("*.su") for line in file.read_text().splitlines()]
    return {place.split(":")[-1]: int(size) for place, size, _ in lines}


def test_without_the_compiler_helpers_are_not_known(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccml.costs.build.shutil.which", lambda _: None)
    result = ccml.compile(model, "cortex-m0plus", tmp_path / "out")
    routes = result.artifacts[0].report.totals.routes
    assert list(routes) == ["llvm"]
    assert routes["llvm"].helper_bytes is None
    assert "__aeabi_fmul" in routes["llvm"].helpers


def test_other_targets_have_the_sections_of_objects(model: Path, tmp_path: Path) -> None:
    report = ccml.compile(model, "linux-arm64", tmp_path / "out", emit=["obj"]).artifacts[0].report
    (route,) = report.totals.routes.values()
    assert isinstance(route, Route)
    assert route.flash_bytes == report.totals.flash_bytes == sum((report.sections or {}).values())
    assert (route.stack_bytes, route.helpers, route.helper_bytes) == (None, [], 0)


@needs(GCC)
def test_the_command_line_shows_both(model: Path, tmp_path: Path) -> None:
    done = run_ccml("compile", model, "--target", "cortex-m0plus", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert "by LLVM" in done.stdout and "by GCC" in done.stdout
