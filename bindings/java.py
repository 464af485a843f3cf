"""A class for Java on desktops and servers: a project with the source and the library, and a jar of both."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from ..emit_c.contract import Contract
from ..ir.program import Program
from ..packages.archives import zip_archive
from ..packages.engine import make_engine
from ..packages.java.classes import compile_classes, has_compiler
from ..packages.java.glue import check_contract, class_digest
from ..packages.java.library import library_file, link_java_library
from ..packages.java.names import JavaNames
from ..packages.java.source import STUB, annotation_stub, class_source
from ..targets import Machine

log = logging.getLogger(__name__)

_MANIFEST = "META-INF/MANIFEST.MF"


def write_java(
    contract: Contract, program: Program, machine: Machine, facts: dict[str, object], folder: Path
) -> None:  # fmt: skip
    """Writes ``java/NAME/`` into ``folder``, which holds the static library of code for CPUs up to that of ``machine``.
    Without a compiler for Java there is no jar."""
    check_contract(contract)
    name, names = contract.prefix, JavaNames.of(contract.prefix)
    root = folder / "java" / name
    file = library_file(name, machine)
    resource = f"{names.package.replace('.', '/')}/{file}"
    digest = class_digest([contract])
    source = class_source([contract], digest, file, android=False)
    static = folder / machine.abi.objects.library.format(name=program.owner)
    with tempfile.TemporaryDirectory(prefix="ccml-") as scratch:
        library = Path(scratch) / file
        link_java_library(program, machine, digest, static.read_bytes(), library)
        image = library.read_bytes()
    _write(root / "src/main/java" / names.path, source.encode())
    resources = {resource: image}
    if contract.weights is not None:
        weights = contract.weights.file
        resources[str(Path(resource).with_name(weights).as_posix())] = (folder / weights).read_bytes()
    for path, content in resources.items():
        _write(root / "src/main/resources" / path, content)
    pom = make_engine(__package__).get_template("pom.xml").render({**facts, "package": names.package})
    _write(root / "pom.xml", pom.encode())
    if not has_compiler():
        log.warning("%s.jar is not written: no javac here; 'mvn package' makes it, 'ccml doctor' says more", name)
        return
    classes = compile_classes({names.path: source, STUB: annotation_stub()}, STUB)
    manifest = f"Manifest-Version: 1.0\r\nAutomatic-Module-Name: {names.package}\r\n\r\n"
    _write(root / f"{name}.jar", zip_archive({_MANIFEST: manifest.encode(), **classes, **resources}))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
