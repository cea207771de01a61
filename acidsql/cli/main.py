"""The command ``acidsql`` and its exit statuses.

0: done. 1: wrong usage, or a fault of acidsql itself. 2: the store or Spark cannot be reached.
3: a statement or file failed, or its output could not be written. 130: interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

import click

from acidsql.cli.connection import FAILED_STATUS, error_text
from acidsql.cli.dump import dump_command
from acidsql.cli.run import run_command
from acidsql.cli.service import service_command
from acidsql.errors import AcidSqlError, StorageError

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
        _replace_closed_streams()
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
        except (OSError, UnicodeEncodeError) as error:
            if not _is_of_output(error):
                raise
            click.echo(error_text(_unprinted(error)), err=True)
            sys.stdout = _nowhere()  # what it still holds cannot be written at exit, either
            sys.exit(FAILED_STATUS)
        sys.exit(status if isinstance(status, int) else 0)


def _replace_closed_streams() -> None:
    """Let what is printed go nowhere where the caller has closed standard output or error.

    Python has None in their places. A script must not end at its first row for that.
    """
    sys.stdout, sys.stderr = (sys.stdout or _nowhere()), (sys.stderr or _nowhere())


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # open until the process ends


_WRITE_ERRORS = frozenset({errno.EBADF, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EDQUOT})
"""What a write to a closed or full standard output ends in. Click handles a broken pipe."""


def _is_of_output(error: OSError | UnicodeEncodeError) -> bool:
    """Whether standard output may be to blame.

    Errors of files have names, and lost connections have other codes.
    """
    if isinstance(error, UnicodeEncodeError):
        return True
    return error.filename is None and error.errno in _WRITE_ERRORS


def _unprinted(error: OSError | UnicodeEncodeError) -> AcidSqlError:
    if isinstance(error, UnicodeEncodeError):
        missing = ascii(error.object[error.start])
        return StorageError(
            "standard output cannot be written",
            detail=f"Its encoding {error.encoding} has no character {missing}.",
            hint="Set PYTHONIOENCODING=utf-8.",
        )
    return StorageError("standard output cannot be written", detail=f"{error.strerror}.")


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
