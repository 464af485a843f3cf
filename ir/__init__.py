"""The two intermediate representations: tensors in SSA form (graph.py) and loop nests (loops.py)."""
