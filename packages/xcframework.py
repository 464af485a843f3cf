"""Writes a model as an XCFramework: static libraries for macOS, iOS and its simulator, with a package for Swift."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..record import record
from .every_abi import AbiBuild, Render
from .sample import Sample
from .universal import universal


@record
class _Slice:
    """What an ABI is to Xcode."""

    platform: str
    processor: str
    variant: str = ""


_SLICES = {
    "macos-arm64": _Slice("macos", "arm64"),
    "macos-x86_64": _Slice("macos", "x86_64"),
    "ios-arm64": _Slice("ios", "arm64"),
    "ios-arm64-simulator": _Slice("ios", "arm64", "simulator"),
}
_CLANG_MACROS = {"arm64": "__aarch64__", "x86_64": "__x86_64__"}
_CHECK = ("check.c", "check.h", "sample.c", "sample.h")


def write_xcframework(
    root: Path, builds: Sequence[AbiBuild], sample: Sample, render: Render, facts: Mapping[str, object]
) -> None:
    """Writes ``NAME.xcframework``, a package for Swift around it and an application that runs the model on a sample
    into ``root``. ``sample`` is in what ``facts`` render."""
    name = str(facts["name"])
    groups: dict[tuple[str, str], list[AbiBuild]] = {}
    for build in builds:
        each = _SLICES[build.machine.abi.name]
        groups.setdefault((each.platform, each.variant), []).append(build)
    files, libraries = {}, []
    for (platform, variant), members in groups.items():
        processors = [_SLICES[build.machine.abi.name].processor for build in members]
        identifier = "-".join(filter(None, (platform, "_".join(sorted(processors)), variant)))
        folder = f"{name}.xcframework/{identifier}"
        parts = dict(sorted(zip(processors, (build.static_library for build in members), strict=True)))
        files[f"{folder}/lib{name}.a"] = universal(parts)
        headers = _headers(name, dict(zip(processors, (build.headers for build in members), strict=True)))
        files |= {f"{folder}/Headers/{name}/{path}": content for path, content in headers.items()}
        libraries.append({
            "LibraryIdentifier": identifier, "LibraryPath": f"lib{name}.a", "HeadersPath": "Headers",
            "SupportedArchitectures": sorted(processors), "SupportedPlatform": platform,
            **({"SupportedPlatformVariant": variant} if variant else {}),
        })  # fmt: skip
    libraries.sort(key=lambda library: str(library["LibraryIdentifier"]))
    description = {
        "AvailableLibraries": libraries, "CFBundlePackageType": "XFWK", "XCFrameworkFormatVersion": "1.0",
    }  # fmt: skip
    files[f"{name}.xcframework/Info.plist"] = plistlib.dumps(description)
    files |= {
        f"weights/{build.machine.abi.name}.weights": build.weights for build in builds if build.weights is not None
    }
    here = next((library for library in libraries if library["SupportedPlatform"] == "macos"), libraries[0])
    context = {**facts, "abis": [build.machine.abi.name for build in builds], "slice": here["LibraryIdentifier"]}
    files |= {f"check/{name}_{file}": render(f"common/{file}", context).encode() for file in _CHECK}
    files["check/main.c"] = render("common/main_hosted.c", context).encode()
    files["Package.swift"] = render("xcframework/Package.swift", context).encode()
    files["README.md"] = render("xcframework/README.md", context).encode()
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def _headers(name: str, headers: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """The headers of a library for several processors, whose models need other amounts of memory, and the map by which
    Swift imports them."""
    files = {"module.modulemap": f'module {name} {{\n    header "{name}.h"\n    export *\n}}\n'.encode()}
    if len(headers) == 1:
        return files | dict(next(iter(headers.values())))
    for file in (f"{name}.h", f"{name}.hpp"):
        stem, ending = file.rsplit(".", 1)
        for processor, contents in headers.items():
            own = contents[file].replace(f'#include "{name}.h"'.encode(), f'#include "{name}_{processor}.h"'.encode())
            files[f"{stem}_{processor}.{ending}"] = own
        choice = "\n".join(
            f'#{"el" * bool(number)}if defined({_CLANG_MACROS[processor]})\n#include "{stem}_{processor}.{ending}"'
            for number, processor in enumerate(headers)
        )
        files[file] = f"{choice}\n#else\n#error \"{name} is not for this processor\"\n#endif\n".encode()
    return files
