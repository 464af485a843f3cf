"""ONNX's backend suite through ``ccml.onnx_backend``, compiled into this process."""

from __future__ import annotations

from ccml.onnx_backend import JitBackend

from tests.onnx_suite.suite import suite_cases

globals().update(suite_cases(JitBackend, __name__))
