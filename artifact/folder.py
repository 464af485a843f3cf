"""The output folder: ccml's files of an earlier compilation go, everybody else's stay.

Files are made in a staging folder inside the output folder, so that publishing them is a rename each, and a failed
compilation leaves the folder as it was. What ccml wrote is known from the file list of ``report.json``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ..errors import CcmlError, ErrorCode
from ..report.schema import REPORT_FILE, File

log = logging.getLogger(__name__)


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A fresh folder inside ``folder``, gone afterwards. Raises ``OUTPUT_FOLDER`` where files cannot be written."""
    existed = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".ccml-", dir=folder))
    except OSError as problem:
        raise _refused(folder, problem) from problem
    try:
        yield stage
    except OSError as problem:
        raise _refused(folder, problem) from problem
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if not existed and not any(folder.iterdir()):
            folder.rmdir()


def list_files(stage: Path) -> list[File]:
    """The files below ``stage``, by path."""
    paths = sorted(path for path in stage.rglob("*") if path.is_file())
    return [File(path.relative_to(stage).as_posix(), path.stat().st_size, _sha256(path)) for path in paths]


def publish(stage: Path, folder: Path) -> None:
    """Moves the files of ``stage``, its ``report.json`` among them, into ``folder``.

    Files that an earlier report lists and that are not among the new ones are removed, unless somebody changed them.
    Files that are there already with the same content keep their time stamp. Raises ``OUTPUT_FOLDER`` before anything
    is changed where a file that ccml did not write would be overwritten.
    """
    files = {file.path: file for file in list_files(stage)}
    earlier = _earlier_files(folder)
    strange = [name for name in files if name not in earlier and _differs(folder / name, files[name].sha256)]
    if strange:
        raise CcmlError(
            ErrorCode.OUTPUT_FOLDER,
            f"the folder has files that ccml did not write and would overwrite: {', '.join(strange)}",
            loc=str(folder),
            hint="choose another folder with -o, or remove them",
        )
    for name in earlier.keys() - files.keys():
        _remove_stale(folder, name, earlier[name])
    # The report first: should the rest fail, the next compilation knows which files are ccml's.
    for name in sorted(files, key=lambda name: (name != REPORT_FILE, name)):
        target = folder / name
        if not target.is_file() or _differs(target, files[name].sha256):
            target.parent.mkdir(parents=True, exist_ok=True)
            (stage / name).replace(target)


def _refused(folder: Path, problem: OSError) -> CcmlError:
    reason = "it is not a folder" if isinstance(problem, FileExistsError) else problem.strerror or problem
    hint = "choose another folder with -o"
    return CcmlError(ErrorCode.OUTPUT_FOLDER, f"cannot write: {reason}", loc=str(folder), hint=hint)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _differs(path: Path, sha256: str) -> bool:
    """Whether something with other content is there."""
    return path.exists() and (not path.is_file() or _sha256(path) != sha256)


def _earlier_files(folder: Path) -> Mapping[str, str]:
    """Path -> SHA-256 of what the report in ``folder`` lists; nothing where there is no report of ccml."""
    try:
        report = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
        listed = {entry["path"]: entry["sha256"] for entry in report["files"]} if "ccml" in report else None
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    if listed is None:
        return {}
    return {REPORT_FILE: "", **{path: digest for path, digest in listed.items() if _is_inside(folder, path)}}


def _is_inside(folder: Path, name: object) -> bool:
    """Whether a path from a report, which anybody may have edited, stays in the folder."""
    if not isinstance(name, str):
        return False
    path = PurePosixPath(name)
    parents = [folder / parent for parent in path.parents if parent != PurePosixPath(".")]
    return not path.is_absolute() and ".." not in path.parts and not any(parent.is_symlink() for parent in parents)


def _remove_stale(folder: Path, name: str, sha256: str) -> None:
    path = folder / name
    if not path.is_file() and not path.is_symlink():
        return
    if path.is_symlink() or _sha256(path) != sha256:
        log.warning("%s is left from an earlier compilation, but was changed since: not removed", path)
        return
    path.unlink()
    for parent in path.relative_to(folder).parents:
        if parent != Path() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
