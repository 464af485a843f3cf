"""The languages that there are bindings for."""

CPP, PYTHON, RUST, JS, JAVA = "cpp", "python", "rust", "js", "java"
NAMES = (CPP, PYTHON, RUST, JS, JAVA)
NEED_LIBRARY = (PYTHON, RUST, JS, JAVA)
"""Those whose bindings are of use with the compiled library only."""
