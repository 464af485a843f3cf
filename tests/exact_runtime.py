"""ONNX Runtime with integer sums that do not saturate."""

from __future__ import annotations

import onnx
import onnxruntime


def exact_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """On x86 without VNNI its kernels for unsigned by signed bytes let the sum of two products saturate at 16 bits
    (https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html, "When should I use U8U8"), unless
    it is told to make unsigned weights of signed ones."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
