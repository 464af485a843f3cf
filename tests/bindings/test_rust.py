"""The Rust crate: built by cargo without a network, run, and what its types refuse."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import ccml
import numpy as np
import pytest
from onnx import TensorProto, helper, save

from tests.packaging.odd_models import ODD_MODELS, often_or_in_check
from tests.packaging.packages import HOSTILE_OUTPUT, write_model
from tests.packaging.run import run
from tests.tools import needs

pytestmark = needs("cargo", "gcc")

MAIN = """
static mut MEMORY: net::Memory = net::Memory::new();

fn main() {
    let features: net::TENSOR_IN::Array = [FEATURES];
    let mut scores = [0f32; net::TENSOR_OUT::SHAPE[1]];
    let mut best = [0i64; 1];
    let mut memory = net::Memory::new();
    net::Model::new(&mut memory).run(&features, &mut scores, &mut best).unwrap();
    println!("{scores:?} {}", best[0]);
    #[allow(static_mut_refs)]
    let mut fixed = net::Model::new(unsafe { &mut MEMORY });
    let mut again = [0f32; 5];
    fixed.run(&features, &mut again, &mut best).unwrap();
    assert_eq!(again, scores);
    assert!(net::Error::Null.to_string().contains("NULL"));
}
"""


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rust")
    write_model(folder / "net.onnx")
    ccml.compile(folder / "net.onnx", "generic", folder / "out", bindings=["rust"])
    return folder / "out" / "rust" / "net"


def user(crate: Path, folder: Path, main: str) -> Path:
    """A program that depends on the crate; its tensors are called as they are there."""
    names = re.findall(r"^pub mod (\w+) \{", (crate / "src" / "lib.rs").read_text(), re.MULTILINE)
    (folder / "src").mkdir()
    dependency = f'net = {{ path = "{crate}" }}'
    manifest = f'[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n{dependency}\n'
    (folder / "Cargo.toml").write_text(manifest)
    (folder / "src" / "main.rs").write_text(main.replace("TENSOR_IN", names[0]).replace("TENSOR_OUT", names[1]))
    return folder


FEATURES = np.random.default_rng(4).standard_normal((1, 12)).astype(np.float32)
NUMBERS = ", ".join(repr(value) for value in FEATURES[0].tolist())


def test_arrays_of_the_right_size_run(crate: Path, tmp_path: Path) -> None:
    folder = user(crate, tmp_path, MAIN.replace("FEATURES", NUMBERS))
    said = run("cargo", "run", "--offline", "--quiet", cwd=folder)
    wanted = ccml.load(crate.parents[2] / "net.onnx").run(FEATURES)
    scores, best = re.fullmatch(r"\[(.*)\] (\d+)\s*", said).groups()  # type: ignore[union-attr]
    found = np.array(scores.split(","), np.float32)
    np.testing.assert_allclose(found, wanted[HOSTILE_OUTPUT][0], rtol=1e-5)
    assert int(best) == wanted["class"][0]


def test_an_array_of_another_size_does_not_compile(crate: Path, tmp_path: Path) -> None:
    folder = user(crate, tmp_path, MAIN.replace("FEATURES", NUMBERS).replace("0f32; 5", "0f32; 6"))
    done = subprocess.run(
        ["cargo", "build", "--offline", "--quiet"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "expected an array with a size of 5" in done.stderr


def test_tensors_called_as_variants_and_constants_are_in_the_prelude(tmp_path: Path) -> None:
    """A parameter ``None`` would be a pattern that only that variant matches."""
    nodes = [helper.make_node("Relu", ["Some"], ["None"]), helper.make_node("Neg", ["Some"], ["Ok"])]
    some, *results = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("Some", "None", "Ok"))
    graph = helper.make_graph(nodes, "capitals", [some], results)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "net.onnx")
    ccml.compile(tmp_path / "net.onnx", "generic", tmp_path / "out", bindings=["rust"])
    run("cargo", "check", "--offline", cwd=tmp_path / "out" / "rust" / "net", RUSTFLAGS="-D warnings")


@pytest.mark.parametrize("name", often_or_in_check(ODD_MODELS, "state"))
def test_other_interfaces_make_crates_without_a_warning(name: str, tmp_path: Path) -> None:
    model, options = ODD_MODELS[name]
    save(model, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "generic", tmp_path / "out", options=options, bindings=["rust"])
    crate = tmp_path / "out" / "rust" / "odd"
    assert "warning" not in run("cargo", "check", "--offline", cwd=crate, RUSTFLAGS="-D warnings")
