"""The languages that there are bindings for."""

CPP, PYTHON = "cpp", "python"
NAMES = (CPP, PYTHON)
