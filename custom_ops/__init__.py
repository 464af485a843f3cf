"""Custom operators: operators of a model whose C the user gives, and what is needed of them besides that.

``operators.py`` reads what the command line names, ``signature.py`` the TOML file beside the C; ``attributes.py`` says
what a node of the graph IR holds of its operator; ``kernel.py`` makes the foreign kernel of it and ``unit.py`` the C
around the user's; ``host.py`` compiles it for this machine, ``meaning.py`` evaluates it.
"""
