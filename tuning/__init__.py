"""Loops chosen by measurement: a search over what may be decided about them, and the file that keeps what was found."""
