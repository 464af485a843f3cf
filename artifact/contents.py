"""What an output folder holds, as its reports say.

While a folder holds one model, ``report.json`` and ``Makefile`` are that model's. With several, each has
``NAME_report.json`` and ``NAME.mk``, ``report.json`` is an index of the reports, and ``Makefile`` builds all models.
With ``--abi all`` the folder of each ABI is such a folder, and the index above them names their reports.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from ..emit_c.makefile import MAKEFILE
from ..record import record
from ..report.schema import REPORT_FILE, SCHEMA, File, json_text


@record
class Model:
    """A model in a folder: the path of its report, that report, and the files that it lists, path to SHA-256."""

    name: str
    report: str
    content: Mapping[str, object]
    files: Mapping[str, str]

    @property
    def listed(self) -> list[dict[str, object]]:
        """The files as the report lists them."""
        files = self.content["files"]
        return [entry for entry in files if isinstance(entry, dict)] if isinstance(files, list) else []


@record
class Contents:
    """The models in a folder, the folders of ABIs below it, and the SHA-256 of a Makefile of several models.

    ``known``: the folder's ``report.json`` is ccml's.
    """

    models: tuple[Model, ...] = ()
    abis: tuple[str, ...] = ()
    makefile: str | None = None
    known: bool = False

    def others(self, name: str) -> list[Model]:
        """The models beside ``name``."""
        return [model for model in self.models if model.name != name]

    def shared(self, name: str) -> bool:
        """Whether the folder holds more than the model ``name``."""
        return bool(self.others(name) or self.abis)

    def report_file(self, name: str) -> str:
        """How the report of the model ``name`` is called in the folder."""
        return own_report(name) if self.shared(name) else REPORT_FILE

    def makefile_name(self, name: str) -> str:
        """How the Makefile of the model ``name`` is called in the folder."""
        return own_makefile(name) if self.shared(name) else MAKEFILE


def own_report(name: str) -> str:
    """The report of a model that shares its folder."""
    return f"{name}_report.json"


def own_makefile(name: str) -> str:
    """The Makefile of a model that shares its folder."""
    return f"{name}.mk"


def read_contents(folder: Path) -> Contents:
    """What ``folder`` holds; nothing where ``report.json`` is missing or is not ccml's."""
    content = _read(folder / REPORT_FILE)
    if content is None:
        return Contents()
    if "models" not in content and "reports" not in content:
        alone = read_model(folder, REPORT_FILE)
        return Contents((alone,), known=True) if alone is not None else Contents()
    reports = (own_report(name) for name in _keys(content, "models"))
    models = (read_model(folder, report) for report in reports if _is_inside(folder, report))
    abis = (abi for abi in _keys(content, "reports") if _is_inside(folder, f"{abi}/{REPORT_FILE}"))
    return Contents(
        models=tuple(model for model in models if model is not None),
        abis=tuple(abi for abi in abis if (folder / abi / REPORT_FILE).is_file()),
        makefile=_listed(folder, content).get(MAKEFILE),
        known=True,
    )


def read_model(folder: Path, report: str) -> Model | None:
    """The model of a report in ``folder``; ``None`` where the file is missing or no report."""
    content = _read(folder / report)
    model = content.get("model") if content is not None else None
    name = model.get("name") if isinstance(model, dict) else None
    if content is None or not isinstance(content.get("files"), list):
        return None
    return Model(name if isinstance(name, str) else "", report, content, _listed(folder, content))


def index_text(folder: Path, models: Iterable[Model], abis: Iterable[str], version: object) -> str:
    """The report above the reports of several models of a folder, and of the folders of ABIs."""
    models, abis = sorted(models, key=lambda model: model.name), sorted(abis)
    paths = {path for model in models for path in (model.report, *model.files)} | {MAKEFILE}
    for abi in abis:
        inside = read_contents(folder / abi)
        files = {REPORT_FILE, *(path for model in inside.models for path in (model.report, *model.files))}
        files |= {MAKEFILE} if inside.makefile is not None else set()
        paths |= {f"{abi}/{path}" for path in files}
    index: dict[str, object] = {"schema": SCHEMA, "ccml": version}
    if models:
        index["models"] = {model.name: model.report for model in models}
    if abis:
        index["reports"] = {abi: f"{abi}/{REPORT_FILE}" for abi in abis}
    listed = (describe(folder, path) for path in sorted(paths) if (folder / path).is_file())
    index["files"] = [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in listed]
    return json_text(index)


def describe(folder: Path, path: str) -> File:
    """A file of ``folder`` as reports list it."""
    return File(path, (folder / path).stat().st_size, sha256(folder / path))


def sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(path: Path) -> dict[str, object] | None:
    """A report of ccml. What anybody may have edited raises nothing."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and "ccml" in content else None


def _keys(content: Mapping[str, object], key: str) -> list[str]:
    entries = content.get(key)
    return list(entries) if isinstance(entries, dict) else []


def _listed(folder: Path, content: Mapping[str, object]) -> dict[str, str]:
    """Path to SHA-256 of the files that a report lists in its folder; nothing where the list is damaged."""
    files = content.get("files")
    try:
        listed = {entry["path"]: entry["sha256"] for entry in files} if isinstance(files, list) else {}
    except (KeyError, TypeError):
        return {}
    return {path: digest for path, digest in listed.items() if _is_inside(folder, path)}


def _is_inside(folder: Path, name: object) -> bool:
    """Whether a path from a report stays in the folder."""
    if not isinstance(name, str):
        return False
    path = PurePosixPath(name)
    parents = [folder / parent for parent in path.parents if parent != PurePosixPath(".")]
    return not path.is_absolute() and ".." not in path.parts and not any(parent.is_symlink() for parent in parents)
