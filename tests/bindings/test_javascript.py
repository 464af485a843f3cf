"""The ES module around WebAssembly, in Node.js: results, states, and misuse that throws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import pytest
from onnx import save

from tests.packaging.odd_models import ODD_MODELS
from tests.packaging.packages import HOSTILE, HOSTILE_OUTPUT, write_model
from tests.packaging.run import run
from tests.tools import needs

pytestmark = needs("node", "wasm-ld")
FEATURES = np.random.default_rng(6).standard_normal((1, 12)).astype(np.float32)


def in_node(folder: Path, name: str, script: str) -> Any:
    """What ``script`` gives to ``say``, with the module's exports as ``m`` and a loaded model as ``model``."""
    (folder / "main.mjs").write_text(
        f'import * as m from "./{name}.mjs";\nconst model = await m.load("{name}.wasm");\n'
        "const say = (x) => console.log(JSON.stringify(x, (_, v) => typeof v === 'bigint' ? Number(v) : "
        "ArrayBuffer.isView(v) ? [...v] : v));\n"
        "const error = (f) => { try { f(); return null; } catch (e) { return `${e.name}: ${e.message}`; } };\n" + script
    )
    return json.loads(run("node", "main.mjs", cwd=folder))


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("js")
    write_model(folder / "net.onnx")
    ccml.compile(folder / "net.onnx", "wasm32", folder / "out", bindings=["js"])
    return folder / "out"


def test_typed_arrays_in_and_out(net: Path) -> None:
    wanted = ccml.load(net.parent / "net.onnx").run(FEATURES)
    values = json.dumps(FEATURES[0].tolist())
    named = json.dumps({HOSTILE: "x"}).replace('"x"', "x")
    found = in_node(net, "net", f"const x = new Float32Array({values}); say([model.run(x), model.run({named})]);")
    for each in found:
        np.testing.assert_allclose(np.array(each[HOSTILE_OUTPUT], np.float32), wanted[HOSTILE_OUTPUT][0], rtol=1e-5)
        assert each["class"] == wanted["class"].tolist()


def test_misuse_throws(net: Path) -> None:
    found = in_node(net, "net", """
        say([
          error(() => model.run(new Float64Array(12))), error(() => model.run(new Float32Array(11))),
          error(() => model.run({})), error(() => model.run(null)), error(() => new m.Model({})),
          m.INPUTS[0].shape, Object.isFrozen(m.INPUTS), new m.ModelError(1).message,
        ]);
    """)
    quoted = json.dumps(HOSTILE)
    assert found[0] == f"TypeError: {quoted}: expected a Float32Array"
    assert found[1] == f"RangeError: {quoted}: expected 12 elements, got 11"
    assert found[2] == found[0] and found[3].startswith("TypeError: expected arrays by name")
    assert found[4].startswith("TypeError")
    assert found[5:] == [[1, 12], True, "NET_ERROR_NULL: a pointer is NULL that must not be"]


def test_states_are_kept_and_reset(tmp_path: Path) -> None:
    model, options = ODD_MODELS["state"]
    save(model, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "wasm32", tmp_path / "out", options=options, bindings=["js"])
    found = in_node(tmp_path / "out", "odd", """
        const x = new Float32Array([0, 1, 2, 3]), y = () => model.run(x).y;
        const results = [y(), y()];
        model.reset();
        say([...results, y()]);
    """)
    assert found == [[0, 1, 4, 9], [0, 4, 16, 36], [0, 1, 4, 9]]


def test_it_is_for_web_assembly(net: Path, tmp_path: Path) -> None:
    with pytest.raises(ccml.CcmlError, match="bindings for js do not go with the target x86"):
        ccml.compile(net.parent / "net.onnx", "x86", tmp_path / "out", bindings=["js"])
