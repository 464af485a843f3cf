"""From an optimized graph to a program that the printers print; ``build.py`` has the list of steps."""
