"""The ES module around WebAssembly in headless Chromium: loaded as pages do, with results and misuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import pytest
from onnx import save

from tests.browser import chromium
from tests.packaging.odd_models import ODD_MODELS
from tests.packaging.packages import HOSTILE, HOSTILE_OUTPUT, write_model
from tests.tools import needs

pytestmark = [pytest.mark.check, needs("chromium", "wasm-ld")]

SITE = "https://model.test"
"""Where pages believe that they are; every request is answered from a folder."""
TYPES = {".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html"}
FEATURES = np.random.default_rng(6).standard_normal((1, 12)).astype(np.float32)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    write_model(folder / "net.onnx")
    ccml.compile(folder / "net.onnx", "wasm32", folder / "out", bindings=["js"])
    return folder / "out"


def in_page(browser: Any, folder: Path, name: str, body: str, argument: object = None) -> Any:
    """What the function ``body`` of ``m``, the module, and ``x`` returns in a page that ``folder`` serves."""

    def answer(route: Any) -> None:
        path = folder / route.request.url.removeprefix(f"{SITE}/")
        if path.name == "index.html":
            route.fulfill(body="<!doctype html><title>model</title>", content_type="text/html")
        elif path.is_file():
            route.fulfill(path=str(path), content_type=TYPES[path.suffix])
        else:
            route.fulfill(status=404, body="not found")

    context = browser.new_context()
    said: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: said.append(str(error)))
    page.route("**/*", answer)
    page.goto(f"{SITE}/index.html")
    script = f"async (x) => {{ const m = await import('{SITE}/{name}.mjs'); {body} }}"
    found = page.evaluate(script, argument)
    context.close()
    assert said == []
    return found


_PLAIN = "const plain = (o) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, Array.from(v, Number)]));"


def test_a_page_loads_and_runs_the_model(browser: Any, net: Path) -> None:
    """By a URL relative to the module, a Response, bytes, and a module of WebAssembly."""
    wanted = ccml.load(net.parent / "net.onnx").run(FEATURES)
    found = in_page(browser, net, "net", f"""
        {_PLAIN}
        const features = new Float32Array(x);
        const bytes = await (await fetch("net.wasm")).arrayBuffer();
        const models = [
            await m.load("net.wasm"), await m.load(await fetch("net.wasm")), await m.load(bytes),
            await m.load(await WebAssembly.compile(bytes)),
        ];
        return models.map((model) => plain(model.run(features)));
    """, FEATURES[0].tolist())  # fmt: skip
    assert len(found) == 4
    for outputs in found:
        np.testing.assert_allclose(np.float32(outputs[HOSTILE_OUTPUT]), wanted[HOSTILE_OUTPUT][0], rtol=1e-5)
        assert outputs["class"] == wanted["class"].tolist()


def test_misuse_throws(browser: Any, net: Path) -> None:
    (net / "text.wasm").write_text("no module")
    (net / "empty.wasm").write_bytes(b"\0asm\1\0\0\0")
    found = in_page(browser, net, "net", """
        const model = await m.load("net.wasm");
        const error = async (f) => { try { await f(); return null; } catch (e) { return e.name; } };
        const right = {}; right[x] = new Float32Array(12);
        return [
            await error(() => model.run(right)), await error(() => model.run(new Float64Array(12))),
            await error(() => model.run(new Float32Array(13))), await error(() => model.run(null)),
            await error(() => model.run({})),
            await error(() => m.load("none.wasm")), await error(() => m.load("text.wasm")),
            await error(() => m.load("empty.wasm")), await error(() => m.load(null)),
        ];
    """, HOSTILE)  # fmt: skip
    assert found[0] is None
    assert found[1:5] == ["TypeError", "RangeError", "TypeError", "TypeError"]
    assert found[5:] == ["CompileError", "CompileError", "TypeError", "TypeError"]


def test_models_are_independent_and_keep_their_states(browser: Any, tmp_path: Path) -> None:
    proto, options = ODD_MODELS["state"]
    save(proto, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "wasm32", tmp_path / "out", options=options, bindings=["js"])
    found = in_page(browser, tmp_path / "out", "odd", """
        const [one, other] = [await m.load("odd.wasm"), await m.load("odd.wasm")];
        const features = new Float32Array([0, 1, 2, 3]), y = (model) => Array.from(model.run(features).y);
        const results = [y(one), y(one), y(other)];
        one.reset();
        return [...results, y(one)];
    """)  # fmt: skip
    assert found == [[0, 1, 4, 9], [0, 4, 16, 36], [0, 1, 4, 9], [0, 1, 4, 9]]
