"""Writes a model as an Android library: an .aar for every ABI, and a project of an app that uses it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..emit_c.contract import Contract, contract_of
from ..ir.types import DType
from .archives import zip_archive
from .context import PACKAGE_VERSION
from .every_abi import AbiBuild, Render
from .java.classes import compile_classes, has_compiler
from .java.glue import check_contract, class_digest
from .java.library import library_name, link_java_library
from .java.names import JavaNames
from .java.source import STUB, annotation_stub, class_source, tensor_facts
from .prefab import api_level, prefab_files
from .sample import Sample

log = logging.getLogger(__name__)

def write_aar(
    root: Path, builds: Sequence[AbiBuild], sample: Sample, render: Render, facts: Mapping[str, object]
) -> None:
    """Writes ``NAME.aar`` into ``root``, or without a compiler for Java a Gradle module with its source in the folder
    ``NAME``, and a project of an app in ``example``. Raises ``TOOLCHAIN`` where nothing links for an ABI, and
    ``BAD_OPTION`` where Java cannot call the model."""
    contracts = [contract_of(build.program) for build in builds]
    contract, digest = contracts[0], class_digest(contracts)
    for each in contracts:
        check_contract(each)
    name, names = contract.prefix, JavaNames.of(contract.prefix)
    context = {
        **facts,
        "java_package": names.package,
        "class_name": names.class_name,
        "min_sdk": max(api_level(build.machine) for build in builds),
        "abis": [build.machine.abi.name for build in builds],
        "archive": has_compiler(),
        "tensors": _tensors(contract, sample),
    }
    assets = {f"{name}/{b.machine.abi.name}.weights": b.weights for b in builds if b.weights is not None}
    by_model = dict(zip((each.identity for each in contracts), assets, strict=False))
    source = class_source(contracts, digest, f"lib{library_name(name)}.so", android=True, assets=by_model)
    files: dict[str, bytes] = {}
    if has_compiler():
        files[f"{name}.aar"] = zip_archive({
            "AndroidManifest.xml": render("aar/library_manifest.xml", context).encode(),
            "classes.jar": zip_archive(compile_classes({names.path: source, STUB: annotation_stub()}, STUB)),
            "R.txt": b"",
            "proguard.txt": render("aar/rules.pro", context).encode(),
            "META-INF/com/android/build/gradle/aar-metadata.properties": render("aar/metadata", context).encode(),
            **{f"assets/{path}": weights for path, weights in assets.items()},
            **_libraries(builds, digest, "jni"),
            **prefab_files(PACKAGE_VERSION, {b.machine.abi.name: (b.program, b.machine, b.headers) for b in builds}),
        })  # fmt: skip
    else:
        log.warning("%s.aar needs javac, which is not here: written as a Gradle project; see 'ccml doctor'", name)
        files |= {
            f"{name}/build.gradle.kts": render("aar/library.gradle.kts", context).encode(),
            f"{name}/consumer-rules.pro": render("aar/rules.pro", context).encode(),
            f"{name}/src/main/AndroidManifest.xml": render("aar/module_manifest.xml", context).encode(),
            f"{name}/src/main/java/{names.path}": source.encode(),
            **{f"{name}/src/main/assets/{path}": weights for path, weights in assets.items()},
            **_libraries(builds, digest, f"{name}/src/main/jniLibs"),
        }
    files |= _example(names, sample, render, context)
    files["README.md"] = render("aar/README.md", context).encode()
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def _libraries(builds: Sequence[AbiBuild], digest: int, folder: str) -> dict[str, bytes]:
    """The libraries that the class loads, by path."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="ccml-") as scratch:
        for build in builds:
            name, abi = build.program.name, build.machine.abi.name
            path = Path(scratch) / f"{abi}.so"
            link_java_library(build.program, build.machine, digest, build.static_library, path)
            found[f"{folder}/{abi}/lib{library_name(name)}.so"] = path.read_bytes()
    return found


def _example(
    names: JavaNames, sample: Sample, render: Render, context: Mapping[str, object]
) -> dict[str, bytes]:
    """The app, with the sample among its assets."""
    main = "example/app/src/main"
    java = f"{main}/java/{names.package.replace('.', '/')}/example"
    templates = {
        "example/settings.gradle.kts": "settings.gradle.kts",
        "example/build.gradle.kts": "project.gradle.kts",
        "example/app/build.gradle.kts": "app.gradle.kts",
        f"{main}/AndroidManifest.xml": "app_manifest.xml",
        f"{java}/MainActivity.java": "MainActivity.java",
        f"{java}/Check.java": "Check.java",
    }
    files = {path: render(f"aar/{template}", context).encode() for path, template in templates.items()}
    contents = [(f"input_{n}", content) for n, content in enumerate(sample.inputs)]
    contents += [(f"expected_{n}", content) for n, content in enumerate(sample.expected) if content]
    return files | {f"{main}/assets/{file}.bin": content for file, content in contents}


def _tensors(contract: Contract, sample: Sample) -> list[dict[str, object]]:
    """What the app's templates are told of inputs and outputs, with the bytes that the sample has of each."""
    kinds = {DType.F32: "Float", DType.F64: "Double"}
    return [
        {**tensor_facts(contract, tensor), "content": len(content), "floats": kinds.get(tensor.dtype, "")}
        for tensor, content in zip(contract.tensors, (*sample.inputs, *sample.expected), strict=True)
    ]
