"""Bindings: what programs in other languages call a model by, from the contract of its header."""
