"""TensorFlow Lite models -> ONNX models, which ``frontend_onnx`` makes graphs of."""

from .load import is_tflite, read_tflite

__all__ = ["is_tflite", "read_tflite"]
