"""``acidsql run``: SQL from files, standard input and -e."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from acidsql.cli.connection import (
    FAILED_STATUS,
    config_of,
    connected,
    connection_options,
    fail,
    property_option,
)
from acidsql.cli.layout import LayoutWatch, local_directory
from acidsql.cli.output import FORMATS, Format, Printer
from acidsql.cli.progress import watched
from acidsql.errors import AcidSqlError, TxnError
from acidsql.session.script import OWN_SCRIPTS, run_script

if TYPE_CHECKING:
    from acidsql.execution.result import Result
    from acidsql.session.session import Session


@dataclass(frozen=True, slots=True)
class Inline:
    """The SQL of one ``-e``. It stands among the files in the order of the command line."""

    sql: str


class InlineOption(click.Option):
    """An option whose values become positional arguments, so that their order is kept."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser._short_opt["-e"].process = _keep_place
        parser._long_opt["--execute"].process = _keep_place


def _keep_place(value: str, state: Any) -> None:
    state.largs.append(Inline(value))


@dataclass(frozen=True, slots=True)
class Script:
    """A text to run, and its name in errors."""

    name: str
    text: str


@click.command("run")
@click.option(
    "-e",
    "--execute",
    cls=InlineOption,
    multiple=True,
    expose_value=False,
    metavar="SQL",
    help="Run this SQL. May be repeated and mixed with files.",
)
@click.argument("sources", metavar="[FILE|-]...", nargs=-1, type=click.UNPROCESSED)
@connection_options
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@property_option
@click.option(
    "-d",
    "--define",
    "--hivevar",
    "hivevars",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable: ${NAME} in the SQL becomes VALUE.",
)
@click.option(
    "--hiveconf",
    multiple=True,
    metavar="KEY=VALUE",
    help="SET this property before the SQL runs.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summaries, rows only.")
@click.option(
    "-1",
    "--single-transaction",
    is_flag=True,
    help="Commit everything at the end, or nothing.",
)
@click.option(
    "--show-layout",
    is_flag=True,
    help="Print each statement, the comments before it, and what it changed on disk: new"
    " directories (+) with their rows, and directories that are gone (-).",
)
def run_command(
    sources: tuple[str | Inline, ...],
    warehouse: str,
    metastore: str | None,
    must_exist: bool,
    format: str,
    properties: tuple[str, ...],
    hivevars: tuple[str, ...],
    hiveconf: tuple[str, ...],
    quiet: bool,
    single_transaction: bool,
    show_layout: bool,
) -> None:
    """Run SQL from files, standard input (-) and -e, in the order given.

    Without any of them, it runs the SQL that is piped in.

    The first error ends the run with exit status 3.
    """
    scripts = list(_scripts(sources))
    printer = Printer(cast(Format, format), sys.stdout, sys.stderr, quiet)
    config = {**OWN_SCRIPTS, **config_of(properties)}
    given = {f"hiveconf:{key}": value for key, value in config_of(hiveconf).items()}
    given |= {f"hivevar:{name}": value for name, value in config_of(hivevars).items()}
    with (
        connected(warehouse, metastore, config, must_exist=must_exist) as session,
        watched(session, sys.stderr, quiet=quiet),
    ):
        try:
            watch = LayoutWatch(local_directory(warehouse)) if show_layout else None
        except AcidSqlError as error:
            fail(error)
        _set(session, given, quiet=quiet)
        if single_transaction:
            session.execute("BEGIN")
        for script in scripts:
            _run(session, script, printer, watch)
        _end(session, commit=single_transaction)


def _set(session: Session, given: Mapping[str, str], *, quiet: bool) -> None:
    """Set what the command line gives. What has no effect is said on standard error."""
    for key, value in given.items():
        try:
            message = session.set(key, value).message or ""
        except AcidSqlError as error:
            fail(error, status=FAILED_STATUS)
        _, _, note = message.partition("\n")
        if note and not quiet:
            click.echo(f"acidsql: {note}", err=True)


def _end(session: Session, *, commit: bool) -> None:
    """End the transaction that is open after the scripts, if there is one.

    With ``commit`` it is the transaction of --single-transaction, which is committed. Otherwise a
    script began it and did not end it: that is an error, and closing the session rolls it back.
    """
    if not session.in_transaction:
        return
    try:
        if not commit:
            raise TxnError(
                "the script ended inside a transaction, which is rolled back",
                hint="End it with COMMIT, or run everything with --single-transaction.",
            )
        session.execute("COMMIT")
    except AcidSqlError as error:
        fail(error, status=FAILED_STATUS)


def _run(session: Session, script: Script, printer: Printer, watch: LayoutWatch | None) -> None:
    place = (1, 1)

    def execute(text: str, line: int, column: int) -> Result:
        nonlocal place
        place = line, column
        return session.execute(text, None, line=line, column=column, variables=True)

    try:
        for result in run_script(script.text, execute):
            with result:
                _show(result, printer, watch)
    except AcidSqlError as error:
        line, column = place if error.line is None else (error.line, error.column or 1)
        fail(error, f"{script.name}:{line}:{column}", status=FAILED_STATUS)


def _show(result: Result, printer: Printer, watch: LayoutWatch | None) -> None:
    if watch is None:
        printer.print(result)
        return
    stream = printer.out if printer.format == "table" else printer.err
    stream.writelines(f"{line}\n" for line in _told(result.statement))
    printer.print(result)
    stream.writelines(f"{line}\n" for line in watch.changes())
    stream.write("\n")
    stream.flush()


def _told(statement: str) -> Iterator[str]:
    r"""A statement's lines behind ``>``; the comments in front of it as the text that they are.

    >>> list(_told("-- It is one row.\n\nVALUES (1) -- really"))
    ['It is one row.', '', '> VALUES (1) -- really']
    """
    lines = iter(statement.strip().splitlines())
    for line in lines:
        if line.strip() and not line.startswith("--"):
            yield f"> {line}"
            break
        yield line.removeprefix("--").removeprefix(" ")
    yield from (f"> {line}" for line in lines)


def _scripts(sources: tuple[str | Inline, ...]) -> Iterator[Script]:
    if not sources:
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("Nothing to run: give -e SQL, a FILE, or - for standard input.")
        sources = ("-",)
    inline = 0
    for source in sources:
        if isinstance(source, Inline):
            inline += 1
            yield Script(f"<-e {inline}>", source.sql)
        elif source == "-":
            if sys.stdin is None:
                raise click.UsageError("Standard input is closed.")
            if sys.stdin.isatty():
                click.echo("Reading SQL from the terminal; Ctrl-D ends it.", err=True)
            yield Script("<stdin>", _decode("<stdin>", sys.stdin.buffer.read()))
        else:
            yield Script(source, _decode(source, _read(source)))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise click.UsageError(f"Cannot read {path}: {error.strerror}.") from error


def _decode(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{name} is not UTF-8: byte {error.start} is wrong.") from error
