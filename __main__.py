"""``python -m ccml``."""

from .cli.main import main

main()
