"""The output folder: files of a model's earlier compilation go, those of other models and everybody else's stay.

Files are made in a staging folder inside the output folder, so that publishing them is a rename each, and a failed
compilation leaves the folder as it was. What ccml wrote is known from the file lists of the reports.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from ..emit_c.makefile import MAKEFILE, folder_makefile
from ..errors import CcmlError, ErrorCode
from ..record import record
from ..report.schema import REPORT_FILE, File, json_text
from .contents import Contents, describe, index_text, own_makefile, own_report, read_contents, read_model, sha256

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
    return [describe(stage, path.relative_to(stage).as_posix()) for path in paths]


def publish(stage: Path, folder: Path, subfolders: Sequence[str] = ()) -> None:
    """Moves the files of ``stage``, the report of the model among them, into ``folder``; with ``subfolders``, those of
    each into the folder of that name, with an index above them.

    Files that the report of an earlier compilation of the same model lists and that are not among the new ones are
    removed, unless somebody changed them. Files that are there already with the same content keep their time stamp.
    Raises ``OUTPUT_FOLDER`` before anything is changed where a file would be overwritten that ccml did not write or
    that belongs to another model.
    """
    changes = [_Change.of(stage / name, folder / name) for name in subfolders or ("",)]
    before = read_contents(folder)
    if subfolders and not before.known and (folder / REPORT_FILE).exists():
        raise _strange(folder, [REPORT_FILE])
    for change in changes:
        change.check()
    if subfolders:
        _make_room(folder, before)
    for change in changes:
        change.apply()
    if subfolders:
        _write_shared(folder, _names(before), {*before.abis, *subfolders}, changes[0].version)


@record
class _Change:
    """The new files of the model ``name``, whose report is called ``report`` and has the digests of the others as
    ``listed``, and the folder that they go to."""

    stage: Path
    folder: Path
    before: Contents
    name: str
    report: str
    listed: Mapping[str, str]
    version: object

    @staticmethod
    def of(stage: Path, folder: Path) -> _Change:
        found = [path.name for path in stage.iterdir() if path.name == REPORT_FILE or path.match("*_report.json")]
        report = REPORT_FILE if REPORT_FILE in found else found[0]
        model = read_model(stage, report)
        assert model is not None
        return _Change(stage, folder, read_contents(folder), model.name, report, model.files, model.content["ccml"])

    def check(self) -> None:
        """Raises ``OUTPUT_FOLDER`` where something of others would be overwritten."""
        files, earlier = self._new_files, self._earlier_files()
        for other in self.before.others(self.name):
            taken = files.keys() & {own_report(other.name), own_makefile(other.name), *other.files} - {MAKEFILE}
            if taken or other.name.lower() == self.name.lower():
                raise CcmlError(
                    ErrorCode.OUTPUT_FOLDER,
                    f"the folder holds the model '{other.name}', and files or macros would have the same names",
                    loc=str(self.folder),
                    hint="choose another name with --name, or another folder with -o",
                )
        strange = [name for name in files if name not in earlier and _differs(self.folder / name, files[name])]
        if strange:
            raise _strange(self.folder, strange)

    def apply(self) -> None:
        """Replaces the files of the earlier compilation by the new ones."""
        files, earlier = self._new_files, self._earlier_files()
        shared = self.before.shared(self.name)
        if shared:
            _make_room(self.folder, self.before)
        for name in earlier.keys() - files.keys() - ({REPORT_FILE, MAKEFILE} if shared else set()):
            _remove_stale(self.folder, name, earlier[name])
        # The report first: should the rest fail, the next compilation knows which files are ccml's.
        for name in sorted(files, key=lambda name: (name != self.report, name)):
            target = self.folder / name
            if not target.is_file() or _differs(target, files[name]):
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.stage / name).replace(target)
            if shared and name == self.report:
                self._write_shared()
        if shared:
            self._write_shared()

    def _write_shared(self) -> None:
        _write_shared(self.folder, [self.name, *_names(self.before)], self.before.abis, self.version)

    @cached_property
    def _new_files(self) -> dict[str, str]:
        paths = [path.relative_to(self.stage).as_posix() for path in self.stage.rglob("*") if path.is_file()]
        return {path: self.listed.get(path) or sha256(self.stage / path) for path in sorted(paths)}

    def _earlier_files(self) -> dict[str, str]:
        """What may be replaced: the files of an earlier compilation of this model, and those of the folder."""
        files = {} if self.before.makefile is None else {MAKEFILE: self.before.makefile}
        reports = [REPORT_FILE] if self.before.known else []
        for model in self.before.models:
            if model.name == self.name:
                files |= model.files
                reports.append(model.report)
        return files | {report: sha256(self.folder / report) for report in reports}


def _names(contents: Contents) -> list[str]:
    return [model.name for model in contents.models]


def _make_room(folder: Path, before: Contents) -> None:
    """Report and Makefile of a model that was alone so far get its name. Raises ``OUTPUT_FOLDER`` where something that
    ccml did not write is in the way."""
    for model in before.models:
        if model.report != REPORT_FILE:
            continue
        report, makefile = own_report(model.name), own_makefile(model.name)
        files = [{**file, "path": makefile} if file["path"] == MAKEFILE else file for file in model.listed]
        strange = [name for name in (report, makefile) if (folder / name).exists()]
        if strange:
            raise _strange(folder, strange)
        if MAKEFILE in model.files and (folder / MAKEFILE).is_file():
            shutil.copyfile(folder / MAKEFILE, folder / makefile)
        _write(folder, report, json_text({**model.content, "files": sorted(files, key=lambda file: str(file["path"]))}))


def _write_shared(folder: Path, names: Iterable[str], abis: Iterable[str], version: object) -> None:
    """The index and the Makefile of a folder with several models."""
    found = (read_model(folder, own_report(name)) for name in sorted(set(names)))
    models = [model for model in found if model is not None]
    built = [model.name for model in models if own_makefile(model.name) in model.files]
    if built:
        _write(folder, MAKEFILE, folder_makefile(built))
    else:
        (folder / MAKEFILE).unlink(missing_ok=True)
    _write(folder, REPORT_FILE, index_text(folder, models, abis, version))


def _write(folder: Path, name: str, text: str) -> None:
    """Writes a file, unless it has that content already."""
    part = folder / f".ccml-{name}"
    part.write_text(text, encoding="utf-8", newline="\n")
    if (folder / name).is_file() and sha256(folder / name) == sha256(part):
        part.unlink()
    else:
        part.replace(folder / name)


def _strange(folder: Path, names: Iterable[str]) -> CcmlError:
    return CcmlError(
        ErrorCode.OUTPUT_FOLDER,
        f"the folder has files that ccml did not write and would overwrite: {', '.join(names)}",
        loc=str(folder),
        hint="choose another folder with -o, or remove them",
    )


def _refused(folder: Path, problem: OSError) -> CcmlError:
    reason = "it is not a folder" if isinstance(problem, FileExistsError) else problem.strerror or problem
    hint = "choose another folder with -o"
    return CcmlError(ErrorCode.OUTPUT_FOLDER, f"cannot write: {reason}", loc=str(folder), hint=hint)


def _differs(path: Path, digest: str) -> bool:
    """Whether something with other content is there."""
    return path.exists() and (not path.is_file() or sha256(path) != digest)


def _remove_stale(folder: Path, name: str, digest: str) -> None:
    path = folder / name
    if not path.is_file() and not path.is_symlink():
        return
    if path.is_symlink() or sha256(path) != digest:
        log.warning("%s is left from an earlier compilation, but was changed since: not removed", path)
        return
    path.unlink()
    for parent in path.relative_to(folder).parents:
        if parent != Path() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
