"""What a run of generated code costs a Cortex-M: executed instructions for each layer, cycles, bytes of stack.

>>> object_costs(program, machine).layers[3].instructions
112640

Nothing is emulated instruction by instruction: the machine code of the artifact is decoded (``decode.py``), its
control flow found (``functions.py``), and translated into LLVM IR that counts how often every basic block runs
(``translate.py``). The host executes that once on a sample (``simulate.py``). docs/costs.md says how exact it is.
"""
