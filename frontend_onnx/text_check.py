"""Names have to be text: protobuf hands out bytes for a string that is not UTF-8."""

from __future__ import annotations

import onnx
from google.protobuf.message import Message

from ..errors import CcmlError, ErrorCode


def check_text(model: onnx.ModelProto) -> None:
    """Raises ``INVALID_MODEL`` where a string of the model is not UTF-8. Data of tensors is not looked at."""
    pending: list[Message] = [model]
    while pending:
        message = pending.pop()
        if isinstance(message, onnx.TensorProto):
            _check(message, "name", [message.name])
            continue
        for field, value in message.ListFields():
            entries = [value] if isinstance(value, (str, bytes, Message)) else value
            if field.type == field.TYPE_MESSAGE:
                pending.extend(entries)
            elif field.type == field.TYPE_STRING:
                _check(message, field.name, entries)


def _check(message: Message, field: str, entries: list[str | bytes]) -> None:
    for entry in entries:
        if isinstance(entry, bytes):
            where = f"{message.DESCRIPTOR.name}.{field}"
            raise CcmlError(ErrorCode.INVALID_MODEL, f"the model is damaged: {where} is not text: {entry[:40]!r}")
