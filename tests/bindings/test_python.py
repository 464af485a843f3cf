"""The Python module: results, misuse that raises, and the wheel."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ccml
import numpy as np
import pytest
from ccml.bindings.names import STANDARD_MODULES
from onnx import load, numpy_helper, save

from tests.cli.command_line import ccml as command
from tests.packaging.odd_models import ODD_MODELS
from tests.packaging.packages import HOSTILE, HOSTILE_OUTPUT, write_model
from tests.packaging.run import run
from tests.tools import needs

pytestmark = needs("gcc")


def load_module(folder: Path, name: str) -> ModuleType:
    """The generated module, without an entry in ``sys.modules``."""
    spec = importlib.util.spec_from_file_location(f"generated_{name}", folder / "python" / name / name / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("python")
    write_model(path / "net.onnx")
    ccml.compile(path / "net.onnx", "generic", path / "out", bindings=["python"])
    return path


@pytest.fixture(scope="module")
def net(folder: Path) -> ModuleType:
    return load_module(folder / "out", "net")


FEATURES = np.random.default_rng(9).standard_normal((1, 12)).astype(np.float32)


def test_arrays_in_and_arrays_out(folder: Path, net: ModuleType) -> None:
    wanted = ccml.load(folder / "net.onnx").run(FEATURES)
    model = net.Model()
    for found in (model.run(FEATURES), model.run({HOSTILE: FEATURES}), model.run(FEATURES[:, ::-1][:, ::-1])):
        np.testing.assert_allclose(found[HOSTILE_OUTPUT], wanted[HOSTILE_OUTPUT], rtol=1e-5)
        assert found["class"].tolist() == wanted["class"].tolist() and found["class"].dtype == np.int64
    (tensor,) = net.INPUTS
    assert (tensor.name, tensor.dtype, tensor.shape) == (HOSTILE, "float32", (1, 12))


@pytest.mark.parametrize("name", ["numpy", "class", "sys", "code"])
def test_a_name_that_python_has_another_meaning_for(tmp_path: Path, name: str) -> None:
    """A keyword, a module of Python's, and that which the module itself imports: each can be imported as NAME_model."""
    write_model(tmp_path / "net.onnx")
    ccml.compile(tmp_path / "net.onnx", "generic", tmp_path, options=ccml.ModelOptions(name=name), bindings=["python"])
    program = f"import numpy, {name}_model as it; print(len(it.Model().run(numpy.zeros((1, 12), 'f4'))))"
    assert run(sys.executable, "-c", program, cwd=tmp_path / "python" / name).split() == ["2"]


def test_modules_of_the_standard_library_are_known() -> None:
    assert {name for name in sys.stdlib_module_names if not name.startswith("_")} <= STANDARD_MODULES


@pytest.mark.parametrize(
    "arguments, error, said",
    [
        ((FEATURES.astype(np.float64),), TypeError, "expected float32, got float64"),
        ((FEATURES.astype(">f4"),), TypeError, "expected float32, got >f4"),
        ((FEATURES[0],), ValueError, r"expected shape \(1, 12\), got \(12,\)"),
        ((FEATURES[:, :11],), ValueError, r"expected shape \(1, 12\), got \(1, 11\)"),
        ((None,), TypeError, "expected float32, got object"),
        ((), TypeError, "the model has 1 inputs, 0 were given"),
        ((FEATURES, FEATURES), TypeError, "the model has 1 inputs, 2 were given"),
        (({"y": FEATURES},), TypeError, "'y' is no input|is missing"),
    ],
)
def test_misuse_raises(net: ModuleType, arguments: tuple[Any, ...], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        net.Model().run(*arguments)


def test_a_library_of_something_else_is_refused(net: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library")
    for path in (tmp_path / "text.so", tmp_path / "none.so", np.__file__):
        with pytest.raises(net.ModelError, match="is no library of this model"):
            net.Model(path)


def test_the_library_of_another_model_of_that_name_is_refused(folder: Path, net: ModuleType, tmp_path: Path) -> None:
    proto = load(folder / "net.onnx")
    weights = numpy_helper.to_array(proto.graph.initializer[0]) * 2
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, proto.graph.initializer[0].name))
    save(proto, tmp_path / "net.onnx")
    ccml.compile(tmp_path / "net.onnx", "generic", tmp_path / "out", bindings=["python"])
    module = tmp_path / "out" / "python" / "net" / "net"
    (library,) = module.glob("*.so")
    with pytest.raises(net.ModelError, match="is of another model") as caught:
        net.Model(library)
    assert caught.value.code == 5


@pytest.mark.parametrize("name", ODD_MODELS)
def test_every_kind_of_interface(name: str, tmp_path: Path) -> None:
    """The same as ccml's own arrays: extents, strings, states from run to run, narrow types as their bits."""
    proto, options = ODD_MODELS[name]
    save(proto, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "generic", tmp_path / "out", options=options, bindings=["python"])
    module = load_module(tmp_path / "out", "odd")
    loaded, model = ccml.load(tmp_path / "odd.onnx", options), module.Model()
    inputs: dict[str, np.ndarray] = {
        "ranged": {"x": np.array([[1, -1, 2], [0, 3, -4]], np.float32)},
        "texts": {"a": np.array(["ab", "", "Ünïc"]), "b": np.array(["ab", "x", "yz"])},
        "state": {"x": np.arange(4, dtype=np.float32)},
        "types": {"x": np.array([0, 1.5, 2.25, 200], np.float32)},
        "empty": {"x": np.zeros((0, 4), np.float32)},
        "no_inputs": {},
        "scalar": {"x": np.array(7, np.int32)},
    }[name]  # type: ignore[assignment]
    for _ in range(2):
        found, wanted = model.run(inputs), loaded.run(inputs)
        assert found.keys() == wanted.keys()
        for key, array in wanted.items():
            same = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
            assert found[key].shape == same.shape and np.array_equal(found[key], same), key
    if name == "state":
        model.reset()
        assert np.array_equal(model.run(inputs)["y"], inputs["x"] ** 2)
    if name == "ranged":
        with pytest.raises(ValueError, match=r"expected shape \(1\.\.8, 3\), got \(9, 3\)"):
            model.run({"x": np.zeros((9, 3), np.float32)})
    if name == "texts":
        with pytest.raises(ValueError, match="a string of 9 bytes"):
            model.run({"a": np.array(["123456789", "", ""]), "b": inputs["b"]})


def test_the_wheel_holds_the_module_and_the_library(folder: Path, tmp_path: Path) -> None:
    source = folder / "out" / "python" / "net"
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, source]
    run(*command, cwd=tmp_path)
    (wheel,) = tmp_path.glob("net-1.0.0-py3-none-*.whl")
    assert "any" not in wheel.name
    install = ["install", "--quiet", "--no-deps", "--target", tmp_path / "site", wheel]
    run(sys.executable, "-m", "pip", *install, cwd=tmp_path)
    said = run(
        sys.executable, "-c", "import net, numpy; print(net.Model().run(numpy.zeros((1, 12), 'float32'))['class'])",
        cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"),
    )  # fmt: skip
    assert "[0]" in said


@pytest.mark.parametrize(
    "options, said",
    [
        (["-t", "cortex-m4", "--bindings", "python"], "bindings for python do not go with the target cortex-m4"),
        (["-t", "generic", "--emit", "c", "--bindings", "python"], "bindings for python need the library"),
        (["-t", "generic", "--bindings", "go"], "'go' is none of cpp, python, rust, js, java"),
    ],
)
def test_what_cannot_be_bound(folder: Path, tmp_path: Path, options: list[str], said: str) -> None:
    done = command("compile", folder / "net.onnx", *options, "-o", tmp_path / "out")
    assert done.exit_code == 2 and said in done.stderr
    assert all(len(line) <= 100 for line in done.stderr.splitlines()) and not (tmp_path / "out").exists()
