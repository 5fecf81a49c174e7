"""`python -m howsure` is `howsure`."""

from howsure.cli import main

main()
