"""The command ``acidsql`` and its exit statuses.

0: done. 1: wrong usage, or a fault of acidsql itself. 2: the store or Spark cannot be reached.
3: a statement or file failed. 130: interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from acidsql.cli.connection import error_text
from acidsql.cli.dump import dump_command
from acidsql.cli.run import run_command
from acidsql.cli.service import service_command
from acidsql.errors import AcidSqlError

USAGE_STATUS = 1
INTERNAL_STATUS = 1
INTERRUPTED_STATUS = 130


class AcidSqlGroup(click.Group):
    """A click group with our exit statuses: click itself exits 2 on wrong usage and 1 on Ctrl-C."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        def run() -> Any:
            return super(AcidSqlGroup, self).main(
                args, prog_name, complete_var, standalone_mode=False, **extra
            )

        if not standalone_mode:
            return run()
        try:
            status = run()
        except click.ClickException as error:
            error.show()
            sys.exit(USAGE_STATUS)
        except click.Abort:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED_STATUS)
        except AcidSqlError as error:  # from closing the session: commands print their own errors
            click.echo(error_text(error), err=True)
            sys.exit(INTERNAL_STATUS)
        sys.exit(status if isinstance(status, int) else 0)


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"acidsql {import_module('acidsql').__version__}")
        context.exit()


@click.group(cls=AcidSqlGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """SQL on Hive ACID tables, with Spark."""


main.add_command(dump_command)
main.add_command(run_command)
main.add_command(service_command)
