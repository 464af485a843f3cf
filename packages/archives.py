"""Archives of which the same content makes the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every entry: the earliest that the format has."""


def zip_archive(files: Mapping[str, bytes]) -> bytes:
    """A zip file with ``files``, by path, in their order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content)
    return stream.getvalue()
