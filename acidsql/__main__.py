"""``python -m acidsql``: the command line."""

from acidsql.cli.main import main

main(prog_name="acidsql")
