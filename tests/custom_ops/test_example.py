"""examples/custom-operator: the commands of its README."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.command_line import ccml
from tests.tools import needs

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "custom-operator"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that commands run in."""
    shutil.copytree(EXAMPLE, tmp_path / "example")
    monkeypatch.chdir(tmp_path / "example")
    return tmp_path / "example"


@needs("gcc", "arm-none-eabi-gcc", "qemu-system-arm")
def test_commands(example: Path) -> None:
    for target in ([], ["--target", "cortex-m4"]):
        assert ccml("verify", "sensor.onnx", "--samples", "1", *target).exit_code == 0
    assert ccml("compile", "sensor.onnx", "--target", "cortex-m4", "-o", "build").exit_code == 0
    assert {"sensor_custom_0.c", "sensor_custom_1.c", "sensor_median.inc"} <= {f.name for f in Path("build").iterdir()}
    report = json.loads(Path("build/report.json").read_text())
    assert report["options"]["custom_ops"] == {"com.example::Median": "median.c"}
    assert report["totals"]["uncounted"] == ["com.example::Median"]


@needs("gcc")
def test_a_fault_is_found(example: Path) -> None:
    """Where the C takes another element than the median, the layer is named."""
    code = (example / "median.c").read_text()
    (example / "median.c").write_text(code.replace("sorted[WINDOW / 2]", "sorted[0]"))
    result = ccml("verify", "sensor.onnx", "--samples", "1")
    assert result.exit_code == 4
    assert "[E401] median:" in result.stderr


def test_model_is_the_one_of_the_script() -> None:
    spec = importlib.util.spec_from_file_location("make_model", EXAMPLE / "make_model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.sensor().SerializeToString() == (EXAMPLE / "sensor.onnx").read_bytes()
