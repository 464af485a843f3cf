"""The source of a model's Java class, from the contract of its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ... import __version__
from ...emit_c.contract import Contract, Tensor
from ...emit_c.symbols import LICENCE
from ...ir.threads import MOST_THREADS
from ...ir.types import DType
from ..engine import make_engine
from . import glue
from .names import JavaNames, javadoc, parameter_name, string_literal

_ELEMENTS = {
    "float": "float", "double": "double",
    **{f"{sign}int{bits}_t": name for bits, name in ((8, "byte"), (16, "short"), (32, "int"), (64, "long"))
       for sign in ("", "u")},
}  # fmt: skip
_STORED_AS = {DType.BOOL: ", 0 or 1", DType.F16: ", the bits of IEEE binary16", DType.CHAR: ", of UTF-8"}
_OF_ARGUMENTS = ("ERROR_NULL", "ERROR_ALIGN", "ERROR_EXTENT", "ERROR_MODEL", "ERROR_WEIGHTS")
_EXCEPTIONS = {
    "ERROR_CPU": "UnsupportedOperationException", **dict.fromkeys(_OF_ARGUMENTS, "IllegalArgumentException"),
}  # fmt: skip
"""Of codes that the caller can do something about; the others cannot come from a class that fits its library."""

STUB = "org/jetbrains/annotations/NotNull.java"
"""The annotation that Kotlin knows, for compiling alone: programs in Kotlin have it by way of its standard library, and
nothing asks for it when a program runs."""


def class_source(
    contracts: Sequence[Contract], digest: int, library: str, *, android: bool,
    assets: Mapping[int, str] | None = None,
) -> str:  # fmt: skip
    """The class ``digest`` as a source file, for libraries with ``contracts``, whose file is called ``library``; for
    ``android``, or as one that takes its library from beside it. Where weights are in files, ``assets`` has their names
    in an app by the identity of the model."""
    contract = contracts[0]
    names = JavaNames.of(contract.prefix)
    engine = make_engine(__package__)
    engine.filters |= {"javadoc": javadoc, "java_string": string_literal}
    return engine.get_template("Model.java").render(
        name=contract.prefix,
        version=__version__,
        licence=LICENCE,
        package=names.package,
        class_name=names.class_name,
        android=android,
        library=library,
        library_suffix=Path(library).suffix,
        reset=contract.reset,
        weights=contract.weights,
        threads=contract.threads,
        most_threads=MOST_THREADS,
        weights_align=max((each.weights.align for each in contracts if each.weights is not None), default=1),
        assets=assets or {},
        tensors=[tensor_facts(contract, tensor) for tensor in contract.tensors],
        inputs=len(contract.inputs),
        outputs=len(contract.outputs),
        digest=digest,
        codes={
            "tensor": glue.TENSOR, "misaligned": glue.MISALIGNED, "overlap": glue.OVERLAP,
            "no_access": glue.NO_ACCESS,
        },
        errors=[
            (f"{contract.macro}_{error}", number, meaning, _EXCEPTIONS.get(error, "IllegalStateException"))
            for error, number, meaning in contract.errors
        ],
    )  # fmt: skip


def annotation_stub() -> str:
    """The source of the annotation that the class is compiled with."""
    return make_engine(__package__).get_template("NotNull.java").render()


def tensor_facts(contract: Contract, tensor: Tensor) -> dict[str, object]:
    """What templates are told of an input or output."""
    java = _ELEMENTS[tensor.c_type]
    unsigned = ", unsigned" if tensor.c_type.startswith("u") and tensor.dtype.stored == tensor.dtype else ""
    narrow = f", the bits of {tensor.dtype.value}" if tensor.dtype.stored != tensor.dtype else unsigned
    return {
        "name": tensor.name,
        "parameter": parameter_name(tensor.parameter),
        "stem": tensor.stem.removeprefix(f"{contract.macro}_"),
        "is_input": tensor in contract.inputs,
        "java": java,
        "view": "duplicate()" if java == "byte" else f"as{java.title()}Buffer()",
        "stored_as": _STORED_AS.get(tensor.dtype, narrow),
        "elements": tensor.elements,
        "nbytes": tensor.nbytes,
        "size": tensor.dtype.stored.size,
        "shape": tensor.shape,
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
    }
