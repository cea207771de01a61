"""The options that give a command its session, and the printing of errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

from acidsql.errors import AcidSqlError, DependencyError
from acidsql.model.credentials import hide, shown

if TYPE_CHECKING:
    from acidsql.session.session import Session

UNREACHABLE_STATUS = 2
FAILED_STATUS = 3

F = TypeVar("F", bound=Callable[..., object])


def connection_options(command: F) -> F:
    """Adds ``--warehouse``, ``--metastore`` and ``--must-exist`` to a command."""
    metastore = click.option(
        "--metastore",
        metavar="URL",
        envvar="ACIDSQL_METASTORE",
        help="Catalog and transaction store, such as sqlite:////full/path. [default: a file in the"
        " warehouse; env: ACIDSQL_METASTORE]",
    )
    warehouse = click.option(
        "--warehouse",
        metavar="DIR",
        envvar="ACIDSQL_WAREHOUSE",
        default="./warehouse",
        help="Directory or URI of the tables. [default: ./warehouse; env: ACIDSQL_WAREHOUSE]",
    )
    must_exist = click.option(
        "--must-exist",
        is_flag=True,
        help="Fail if there is no transaction store yet, instead of making one.",
    )
    return warehouse(metastore(must_exist(command)))


def property_option(command: F) -> F:
    """Adds ``-D KEY=VALUE``, as ``properties``, to a command."""
    option = click.option(
        "-D",
        "--config",
        "properties",
        multiple=True,
        metavar="KEY=VALUE",
        help="A property of Hive, acidsql or Spark.",
    )
    return option(command)


def config_of(properties: tuple[str, ...]) -> dict[str, str]:
    """The properties by name. UsageError for a text that is not KEY=VALUE."""
    config = {}
    for text in properties:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.UsageError(f"Not KEY=VALUE: {shown(text)!r}.")
        config[key.strip()] = value
    return config


@contextmanager
def connected(
    warehouse: str,
    metastore: str | None,
    config: Mapping[str, str] | None = None,
    *,
    must_exist: bool = False,
) -> Iterator[Session]:
    """The session on a warehouse, closed at the end. Exits with status 2 if connecting fails.

    A new store is announced on standard error: the name of the warehouse may be a typing error.
    """
    from acidsql.connect import connect

    try:
        session = connect(warehouse, metastore=metastore, config=config, must_exist=must_exist)
    except AcidSqlError as error:
        fail(error)
    if session.new_warehouse is not None:
        made = hide(session.new_warehouse, session.new_warehouse)
        click.echo(f"acidsql: made a new store for the warehouse {made}", err=True)
    with session:
        yield session


def fail(error: AcidSqlError, place: str = "", *, status: int = UNREACHABLE_STATUS) -> NoReturn:
    """Print the error on standard error and exit with ``status``.

    For a DependencyError the status is 2, whatever ``status`` says.
    """
    click.echo(error_text(error, place), err=True)
    unreachable = isinstance(error, DependencyError)
    click.get_current_context().exit(UNREACHABLE_STATUS if unreachable else status)


def error_text(error: AcidSqlError, place: str = "") -> str:
    """``place: error: message``, then the excerpt, the detail and the hint on lines of their own.

    >>> print(error_text(AcidSqlError("no such table: t", hint="Create it."), "a.sql:3:1"))
    a.sql:3:1: error: no such table: t
    Hint: Create it.
    """
    code = f" [Hive error {error.code}]" if error.code is not None else ""
    lines = [f"{place or 'acidsql'}: error: {error.message}{code}"]
    if error.excerpt:
        lines.append(error.excerpt)
    if error.detail:
        lines.append(error.detail)
    if error.hint:
        lines.append(f"Hint: {error.hint}")
    return "\n".join(lines)
