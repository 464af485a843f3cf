"""What goes wrong between a program and a model, in every language: an error code or an exception, never a crash.

The model has its weights in a file, so that all mistakes can be made. Where the language allows, the library is built
with sanitizers of addresses and undefined behaviour, which end the program at the first byte that is touched wrongly.

| mistake | C++ | Rust | Python | JavaScript |
|---|---|---|---|---|
| null | status | cannot be said | TypeError | TypeError |
| a wrong size | status | does not compile | ValueError | RangeError |
| misaligned weights | status | error | mapped files are aligned | copied |
| weights damaged, cut off, empty, those of another model | status | error | ModelError | ModelError |
| a library of another model | status | error | ModelError | ModelError |

C itself: tests/artifacts/test_external_weights.py and test_model_identity.py; Java: test_java.py, its native methods
under sanitizers tests/packaging/test_aar.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.bindings.languages import NAMES
from onnx import TensorProto, helper, numpy_helper, save

from tests.packaging.run import run
from tests.tools import needs

SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
DAMAGES = ("damaged", "cut", "empty", "other")
EXTERNAL = ccml.ArtifactOptions(external_weights=True)


def write_model(path: Path, hidden: int) -> None:
    """x [1, 12] to y [1, 5], by way of ``hidden`` numbers."""
    rng = np.random.default_rng(3)
    shapes = {"w0": (12, hidden), "w1": (hidden, 5)}
    constants = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
                 for name, shape in shapes.items()]  # fmt: skip
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["t"]), helper.make_node("Relu", ["t"], ["p"]),
             helper.make_node("MatMul", ["p", "w1"], ["y"])]  # fmt: skip
    sides = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 12])], [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])
    ]
    graph = helper.make_graph(nodes, "net", *sides, constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def made(folder: Path, target: str, language: str, hidden: int = 8) -> Path:
    """What ccml writes for the model, and files of weights that are not right: ``damaged`` and so on."""
    folder.mkdir(exist_ok=True)
    write_model(folder / "net.onnx", hidden)
    out = folder / "out"
    ccml.compile(folder / "net.onnx", target, out, bindings=[language], artifact=EXTERNAL)
    return out


def write_damages(folder: Path, out: Path, target: str) -> None:
    content = bytearray((out / "net.weights").read_bytes())
    (folder / "right").write_bytes(content)
    (folder / "cut").write_bytes(content[:-1])
    (folder / "empty").write_bytes(b"")
    content[-3] ^= 4
    (folder / "damaged").write_bytes(content)
    shutil.copy(made(folder / "another", target, "cpp", hidden=9) / "net.weights", folder / "other")


def sanitized_library(out: Path, folder: Path, *, shared: bool) -> Path:
    """The C of the model, compiled with sanitizers."""
    flags = [*SANITIZED, "-std=c99", "-fPIC", f"-I{out}"]
    if shared:
        run("gcc", *flags, "-shared", *sorted(out.glob("*.c")), "-o", "libchecked.so", cwd=folder)
        return folder / "libchecked.so"
    run("gcc", *flags, "-c", *sorted(out.glob("*.c")), cwd=folder)
    run("ar", "rcs", "libnet.a", *sorted(folder.glob("*.o")), cwd=folder)
    return folder / "libnet.a"


def under_sanitizers(command: Sequence[object], folder: Path) -> str:
    """What a program prints that loads a library with sanitizers, but was built without them."""
    names = ("libasan.so", "libubsan.so")
    preloaded = ":".join(run("gcc", f"-print-file-name={name}", cwd=folder).strip() for name in names)
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, text=True, capture_output=True, check=False, timeout=120,
        env={**os.environ, "LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


CPP = """
#include "net.hpp"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

int main()
{
  const std::array<float, 12> x = {1.0f};
  std::array<float, 5> y;
  std::vector<float> few(11);
  alignas(NET_WEIGHTS_ALIGN) static unsigned char bytes[NET_WEIGHTS_FILE_SIZE + 8];
  for (std::string name : {"right", "damaged", "cut", "empty", "other"}) {
    std::ifstream stream(name, std::ios::binary);
    std::vector<char> all((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const std::size_t size = all.size() < sizeof bytes ? all.size() : sizeof bytes;
    std::copy_n(all.begin(), size, bytes);
    net::Model model(bytes, all.size());
    std::printf("%s %d\\n", name.c_str(), static_cast<int>(model.run(x, y)));
  }
  net::Model null(nullptr, 0), misaligned(bytes + 2, NET_WEIGHTS_FILE_SIZE);
  std::printf("null %d\\n", static_cast<int>(null.run(x, y)));
  std::printf("misaligned %d\\n", static_cast<int>(misaligned.run(x, y)));
  std::printf("size %d\\n", static_cast<int>(null.run(few, y) == net::Status::size));
  return 0;
}
"""


@needs("gcc", "g++")
def test_cpp(tmp_path: Path) -> None:
    """With the header of the model, and with that of another one."""
    out = made(tmp_path, "generic", "cpp")
    write_damages(tmp_path, out, "generic")
    (tmp_path / "main.cpp").write_text(CPP)
    library = sanitized_library(out, tmp_path, shared=False)
    for header, name in ((out, "main"), (tmp_path / "another" / "out", "stranger")):
        run("g++", "-std=c++17", *SANITIZED, f"-I{header}", "main.cpp", library, "-o", name, cwd=tmp_path)
    said = dict(line.split() for line in run(tmp_path / "main", cwd=tmp_path).splitlines())
    assert said == {
        "right": "0", "damaged": "6", "cut": "6", "empty": "6", "other": "5", "null": "1", "misaligned": "2",
        "size": "1",
    }  # fmt: skip
    strange = dict(line.split() for line in run(tmp_path / "stranger", cwd=tmp_path).splitlines())
    assert strange["right"] == "5" and "0" not in strange.values()


RUST = """
#[repr(align(64))]
struct Aligned([u8; 8192]);

fn main() {
    for name in ["right", "damaged", "cut", "empty", "other", "misaligned"] {
        let file = std::fs::read(if name == "misaligned" { "right" } else { name }).unwrap();
        let mut bytes = Aligned([0; 8192]);
        let first = if name == "misaligned" { 2 } else { 0 };
        bytes.0[first..first + file.len()].copy_from_slice(&file);
        let mut memory = net::Memory::new();
        let made = net::Model::new(&mut memory, &bytes.0[first..first + file.len()]);
        let x: net::tensor_x::Array = [1.0; 12];
        let mut y: net::tensor_y::Array = [0.0; 5];
        let result = made.and_then(|mut model| model.run(&x, &mut y));
        println!("{name} {}", match result { Ok(()) => "ok".into(), Err(error) => format!("{error:?}") });
    }
}
"""


@needs("gcc", "cargo")
def test_rust(tmp_path: Path) -> None:
    """The crate's library is replaced by one with sanitizers; then by one of another model."""
    out = made(tmp_path, "generic", "rust")
    write_damages(tmp_path, out, "generic")
    crate = out / "rust" / "net"
    user = tmp_path / "user"
    (user / "src").mkdir(parents=True)
    (user / "src" / "main.rs").write_text(RUST)
    (user / "Cargo.toml").write_text(
        f'[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nnet = {{ path = "{crate}" }}\n'
    )
    arguments = "".join(f'println!("cargo:rustc-link-arg=-l{name}");' for name in ("asan", "ubsan"))
    (user / "build.rs").write_text(f"fn main() {{ {arguments} }}")
    for kind in ("right", *DAMAGES):
        shutil.copy(tmp_path / kind, user / kind)

    def said() -> dict[str, str]:
        run("cargo", "build", "--offline", "--quiet", cwd=user)
        found = under_sanitizers(["target/debug/user"], user)
        return dict(line.split() for line in found.splitlines())

    shutil.copy(sanitized_library(out, tmp_path, shared=False), crate / "lib" / "libnet.a")
    assert said() == {
        "right": "ok", "damaged": "Weights", "cut": "Weights", "empty": "Weights", "other": "Model",
        "misaligned": "Align",
    }  # fmt: skip
    (tmp_path / "strange").mkdir()
    strange = sanitized_library(tmp_path / "another" / "out", tmp_path / "strange", shared=False)
    shutil.copy(strange, crate / "lib" / "libnet.a")
    assert set(said().values()) == {"Model"}


PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, net
x = np.ones((1, 12), np.float32)
def say(name, call):
    try:
        call(); found = "ok"
    except Exception as problem:
        found = f"{type(problem).__name__} {getattr(problem, 'code', '')}".strip()
    print(json.dumps([name, found]))
library, strange = sys.argv[2:]
for name in ("right", "damaged", "cut", "empty", "other", "missing"):
    say(name, lambda: net.Model(library, weights=name).run(x))
model = net.Model(library, weights="right")
say("null", lambda: model.run(None))
say("size", lambda: model.run(x[:, :11]))
say("strange", lambda: net.Model(strange, weights="right"))
"""


@needs("gcc")
@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library of the sanitizers, as Linux does")
def test_python(tmp_path: Path) -> None:
    out = made(tmp_path, "generic", "python")
    write_damages(tmp_path, out, "generic")
    (tmp_path / "main.py").write_text(PYTHON)
    library = sanitized_library(out, tmp_path, shared=True)
    (tmp_path / "strange").mkdir()
    strange = sanitized_library(tmp_path / "another" / "out", tmp_path / "strange", shared=True)
    found = under_sanitizers([sys.executable, "main.py", out / "python" / "net", library, strange], tmp_path)
    assert dict(map(json.loads, found.splitlines())) == {
        "right": "ok", "damaged": "ModelError 6", "cut": "ModelError 6", "empty": "ModelError 6",
        "other": "ModelError 5", "missing": "ModelError 6", "null": "TypeError", "size": "ValueError",
        "strange": "ModelError 5",
    }  # fmt: skip


JAVASCRIPT = """
import { load } from "./net.mjs";
const say = async (name, call) => {
  try { await call(); console.log(name, "ok"); } catch (error) { console.log(name, error.name, error.code ?? ""); }
};
const x = new Float32Array(12);
for (const name of ["right", "damaged", "cut", "empty", "other", "missing"]) {
  await say(name, async () => (await load("net.wasm", name)).run(x));
}
const model = await load("net.wasm", "right");
await say("null", () => model.run(null));
await say("size", () => model.run(new Float32Array(11)));
await say("type", () => model.run(new Float64Array(12)));
await say("strange", async () => (await load("other.wasm", "right")).run(x));
await say("text", () => load("main.mjs", "right"));
"""


@needs("node", "wasm-ld")
def test_javascript(tmp_path: Path) -> None:
    out = made(tmp_path, "wasm", "js")
    write_damages(tmp_path, out, "wasm")
    for kind in ("right", *DAMAGES):
        shutil.copy(tmp_path / kind, out / kind)
    shutil.copy(tmp_path / "another" / "out" / "net.wasm", out / "other.wasm")
    (out / "main.mjs").write_text(JAVASCRIPT)
    lines = [line.split() for line in run("node", "main.mjs", cwd=out).splitlines()]
    found = {name: rest for name, *rest in lines}
    assert found.pop("right") == ["ok"]
    assert [found.pop(name)[0] for name in ("null", "size", "type")] == ["TypeError", "RangeError", "TypeError"]
    errors = {name: found.pop(name) for name in ("damaged", "cut", "empty", "other", "strange")}
    assert {name: error[0] for name, error in errors.items()} == dict.fromkeys(errors, "ModelError")
    assert [errors[name][1] for name in ("damaged", "cut", "empty", "other", "strange")] == ["6", "6", "6", "5", "5"]
    assert set(found) == {"missing", "text"} and all(rest[0].endswith("Error") for rest in found.values())


def test_every_language_is_in_the_table() -> None:
    """Of the bindings that there are."""
    assert set(NAMES) == {"cpp", "rust", "python", "js", "java"}
    assert re.search(r"\| mistake \| C\+\+ \| Rust \| Python \| JavaScript \|", __doc__ or "")
