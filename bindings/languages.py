"""The languages that there are bindings for."""

CPP, PYTHON, RUST, JS = "cpp", "python", "rust", "js"
NAMES = (CPP, PYTHON, RUST, JS)
NEED_LIBRARY = (PYTHON, RUST, JS)
"""Those whose bindings are of use with the compiled library only."""
