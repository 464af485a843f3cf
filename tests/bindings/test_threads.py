"""Threads by the bindings: the same outputs as without, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ccml
import numpy as np
import onnx
import onnx.parser
import pytest
from ccml.driver import Goal

from tests.bindings.test_java import in_java
from tests.packaging.run import run
from tests.tools import needs

pytestmark = needs("gcc")

WIDTH = 96


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a layer that is large enough to be split, and its bindings and packages."""
    folder = tmp_path_factory.mktemp("threads")
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[{WIDTH}, {WIDTH}] x) => (float[{WIDTH}, {WIDTH}] y) {{ y = MatMul(x, w) }}
    """
    model = onnx.parser.parse_model(text)
    weights = np.random.default_rng(5).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, folder / "net.onnx")
    ccml.compile(
        folder / "net.onnx", "x86", folder / "out", goal=Goal(threads=2), bindings=["cpp", "python", "rust", "java"],
        packages=["make", "cmake"],
    )  # fmt: skip
    assert "net_parallel(threads" in (folder / "out" / "net.c").read_text()
    return folder / "out"


CPP = """
#include "net.hpp"
#include <vector>

int main()
{
  std::vector<float> x(NET_X_ELEMENTS), y(NET_Y_ELEMENTS), again(NET_Y_ELEMENTS);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  net::Model model;
  if (model.run(x, y) != net::Status::ok) return 1;
  for (int threads = -1; threads < 5; ++threads) {
    net::Workers workers(threads);
    if (workers.threads() != (threads > 1 ? threads : 1)) return 2;
    model.use(workers.get());
    if (model.run(x, again) != net::Status::ok || again != y) return 3;
    model.use(nullptr);
  }
  net::Workers many(1000);
  return many.threads() == CCML_MOST_THREADS || many.threads() < 64 ? 0 : 4;
}
"""


@needs("g++")
def test_cpp(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(CPP)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-pthread"]
    run("g++", *flags, "main.cpp", folder / "libnet.a", "-o", "main", cwd=tmp_path)
    run("./main", cwd=tmp_path)


PYTHON = """
import gc, threading
import numpy as np
import net

x = np.arange(96 * 96, dtype=np.float32).reshape(96, 96)
wanted = net.Model(threads=1).run(x)["y"]
for threads in (net.THREADS, 5):
    model = net.Model(threads=threads)
    for _ in range(5):
        assert model.run(x)["y"].tobytes() == wanted.tobytes()
before = threading.active_count()
for wrong in (0, -1, 65):
    try:
        net.Model(threads=wrong)
    except net.ModelError as problem:
        assert problem.code == 8, problem.code
    else:
        raise AssertionError(wrong)
del model
gc.collect()
print(len(__import__("os").listdir("/proc/self/task")))
"""


def test_python(folder: Path, tmp_path: Path) -> None:
    """Threads of a model that is gone are gone as well."""
    path = str(folder / "python" / "net")
    command = [sys.executable, "-c", PYTHON]
    environment = {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]


RUST = """
fn main() {
    let x = [0.5f32; 96 * 96];
    let (mut y, mut again) = ([0f32; 96 * 96], [0f32; 96 * 96]);
    let mut memory = net::Memory::new();
    let mut shared = net::WorkersMemory::new();
    assert!(net::Workers::start(&mut shared, 0).is_err());
    let mut workers = net::Workers::start(&mut shared, net::THREADS + 1).unwrap();
    net::Model::new(&mut memory).run(&x, &mut y).unwrap();
    let mut model = net::Model::new(&mut memory);
    model.use_workers(&mut workers);
    model.run(&x, &mut again).unwrap();
    assert!(y == again);
}
"""


@needs("cargo")
def test_rust(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    crate = folder / "rust" / "net"
    manifest = '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n'
    (tmp_path / "Cargo.toml").write_text(f'{manifest}net = {{ path = "{crate}" }}\n')
    (tmp_path / "src" / "main.rs").write_text(RUST)
    run("cargo", "run", "--offline", "--quiet", cwd=tmp_path)


@needs("make")
def test_make_package(folder: Path) -> None:
    package = folder / "make" / "net"
    assert "the result is right" in run("make", "run", cwd=package)


@needs("cmake")
def test_cmake_package(folder: Path, tmp_path: Path) -> None:
    """A program that finds the installed package links threads."""
    package, build = folder / "cmake" / "net", tmp_path / "build"
    run("cmake", "-S", package, "-B", build, f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'there'}", cwd=tmp_path)
    run("cmake", "--build", build, cwd=tmp_path)
    run("cmake", "--install", build, cwd=tmp_path)
    assert "the result is right" in run(build / "net_check", cwd=tmp_path)
    lists = "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(net REQUIRED)\n"
    (tmp_path / "CMakeLists.txt").write_text(
        f"{lists}add_executable(user main.c)\ntarget_link_libraries(user PRIVATE net::net)\n"
    )
    (tmp_path / "main.c").write_text(
        '#include "net.h"\nint main(void)\n{\n  static ccml_workers workers;\n'
        "  int status = net_workers_start(&workers, 2);\n  net_workers_stop(&workers);\n  return status;\n}\n"
    )
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'there'}"
    run("cmake", "-S", tmp_path, "-B", tmp_path / "user", prefix, cwd=tmp_path)
    run("cmake", "--build", tmp_path / "user", cwd=tmp_path)
    run(tmp_path / "user" / "user", cwd=tmp_path)


JAVA = """
        float[] x = new float[96 * 96], y = new float[96 * 96], again = new float[96 * 96];
        for (int i = 0; i < x.length; i++) {
            x[i] = i % 7;
        }
        try (ccml.net.Net model = new ccml.net.Net()) {
            model.run(x, y);
            for (int threads : new int[] {ccml.net.Net.THREADS, 5, 1, 3}) {
                model.setThreads(threads);
                model.run(x, again);
                say(java.util.Arrays.equals(y, again));
            }
            for (int wrong : new int[] {0, -1, 65}) {
                try {
                    model.setThreads(wrong);
                    say("no exception");
                } catch (IllegalArgumentException problem) {
                    say(problem.getMessage());
                }
            }
        }
        ccml.net.Net closed = new ccml.net.Net();
        closed.setThreads(3);
        closed.close();
        try {
            closed.setThreads(2);
            say("no exception");
        } catch (IllegalStateException problem) {
            say("closed");
        }
        for (int i = 0; i < 20; i++) {  // nobody closes them
            new ccml.net.Net().setThreads(2);
        }
        System.gc();
        Thread.sleep(50);
        say("alive");
"""


@needs("java", "javac")
def test_java(folder: Path, tmp_path: Path) -> None:
    said = in_java(tmp_path, folder / "java" / "net" / "net.jar", JAVA)
    refused = [f"1 to 64 threads, not {wrong}" for wrong in (0, -1, 65)]
    assert said == ["true"] * 4 + [*refused, "closed", "alive"]
