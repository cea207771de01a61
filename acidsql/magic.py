"""``%acidsql`` and ``%%acidsql``: SQL in a notebook.

    %load_ext acidsql
    %acidsql --connect /data/warehouse
    %acidsql SELECT * FROM orders WHERE id = :wanted
    %%acidsql recent <<
    UPDATE orders SET qty = 0 WHERE id = 7;
    SELECT * FROM orders

Needs IPython. So only ``%load_ext acidsql`` imports this module.
"""

from __future__ import annotations

import atexit
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import DisplayHandle, display

import acidsql
from acidsql.errors import AcidSqlError, ConfigError
from acidsql.execution.result import summary
from acidsql.model.credentials import hide, shown
from acidsql.model.html_table import html_table
from acidsql.model.progress import PATIENCE_S, ProgressLine, Relay
from acidsql.model.value_text import cell_text
from acidsql.session.script import OWN_SCRIPTS, run_script

if TYPE_CHECKING:
    from acidsql.execution.result import Result
    from acidsql.session.session import Session

ROWS_SHOWN = 1000

REFRESH_S = 0.5
"""Seconds between two updates of the progress line."""

_OPTION = re.compile(r"""\s*--(connect|metastore)(?:\s*=\s*|\s+)('[^']*'|"[^"]*"|[^\s'"]+)""")
_FLAG = re.compile(r"\s*--must-exist(?=\s|$)")
_TARGET = re.compile(r"\s*([^\W\d]\w*)\s*<<")
_PARAMETER = re.compile(
    r"""
    (?<!\w)[rR](?:'[^']*'|"[^"]*")                      # strings without escapes
    | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`   # strings and quoted names
    | --[^\n]* | /\*.*?\*/ | ::                         # comments and casts
    | (?<![\w\])`]):(?P<name>[^\W\d]\w*)                # a parameter, not the field of a variant
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of one magic: the warehouse to connect to, the variable to fill, the SQL."""

    connect: str | None
    metastore: str | None
    target: str | None
    sql: str
    must_exist: bool = False


def parse_request(line: str) -> Request:
    """The parts of the line of a magic.

    >>> parse_request("--connect w a << SELECT 1")
    Request(connect='w', metastore=None, target='a', sql='SELECT 1', must_exist=False)
    """
    options: dict[str, str] = {}
    at, must_exist = 0, False
    while found := _OPTION.match(line, at) or _FLAG.match(line, at):
        if found.re is _FLAG:
            must_exist = True
        else:
            options[found[1]] = found[2][1:-1] if found[2][0] in "'\"" else found[2]
        at = found.end()
    if target := _TARGET.match(line, at):
        at = target.end()
    return Request(
        connect=options.get("connect"),
        metastore=options.get("metastore"),
        target=target[1] if target else None,
        sql=line[at:].strip(),
        must_exist=must_exist,
    )


def parameter_names(sql: str) -> set[str]:
    """The names of the ``:name`` parameters of a statement; not those in strings and comments.

    >>> sorted(parameter_names("SELECT ':no', x::int, :a /* :no */ FROM t WHERE b = :b -- :no"))
    ['a', 'b']
    """
    return {found["name"] for found in _PARAMETER.finditer(sql) if found["name"]}


@magics_class
class AcidSqlMagics(Magics):
    """The magics of one shell. They use the default session until ``--connect`` names another."""

    _session: Session | None = None

    @line_cell_magic
    @no_var_expand  # IPython would put Python's values into the text of the SQL
    def acidsql(self, line: str, cell: str | None = None) -> None:
        """Run SQL: ``%acidsql [--connect WAREHOUSE [OPTION]…] [name <<] [SQL]``.

        The options are ``--metastore URL``, and ``--must-exist`` to fail if there is no warehouse
        yet instead of making one. In their values, ``$name`` and ``{name}`` are variables of the
        notebook, as in other magics.

        ``%%acidsql`` runs its cell, a script. ``:name`` takes the value of the notebook's variable
        of that name. ``name <<`` stores the last result in a variable instead of showing it.
        """
        try:
            self._carry_out(parse_request(line), cell)
        except (AcidSqlError, KeyboardInterrupt) as error:
            text = _error_text(error) if isinstance(error, AcidSqlError) else "interrupted"
            # IPython asks the exception itself for the lines to show in place of a traceback.
            vars(error)["_render_traceback_"] = text.splitlines
            raise

    def _carry_out(self, request: Request, cell: str | None) -> None:
        if cell is not None and request.sql:
            raise ConfigError(
                f"unexpected text after %%acidsql: {shown(request.sql)}",
                hint="Write the SQL below the first line of the cell.",
            )
        if request.metastore is not None and request.connect is None:
            raise ConfigError(
                "--metastore without --connect",
                hint="Use --connect WAREHOUSE --metastore URL.",
            )
        if request.must_exist and request.connect is None:
            raise ConfigError(
                "--must-exist without --connect", hint="Use --connect WAREHOUSE --must-exist."
            )
        if request.connect is not None:
            metastore = request.metastore and self._expanded(request.metastore)
            self._connect(self._expanded(request.connect), metastore, must_exist=request.must_exist)
        text = request.sql if cell is None else cell
        if text.strip():
            self._run(text, request.target)

    def _connect(self, warehouse: str, metastore: str | None, *, must_exist: bool) -> None:
        session = acidsql.connect(
            warehouse, metastore=metastore, must_exist=must_exist, config=OWN_SCRIPTS
        )
        if session.new_warehouse is not None:
            made = hide(session.new_warehouse, session.new_warehouse)
            print(f"Made a new store for the warehouse {made}.")  # noqa: T201 - the cell's output
        before, self._session = self._session, session
        atexit.register(session.close)
        if before is not None:
            atexit.unregister(before.close)
            before.close()

    def _run(self, text: str, target: str | None) -> None:
        session = self._session if self._session is not None else acidsql.default_session()
        with session.watched_by(ProgressLine(CellLine())):
            self._show_results(session, text, target)

    def _show_results(self, session: Session, text: str, target: str | None) -> None:
        if target is None:
            for result in self._results(session, text):
                with result:
                    show(result)
            return
        last: Result | None = None
        try:
            for result in self._results(session, text):
                if last is not None:
                    with last:
                        show(last)
                last = result
        except AcidSqlError:
            if last is not None:
                with last:
                    show(last)
            raise
        if last is not None:
            self._names()[target] = last

    def _results(self, session: Session, text: str) -> Iterator[Result]:
        names = self._names()

        def execute(sql: str, line: int, column: int) -> Result:
            args = {name: names[name] for name in parameter_names(sql) if name in names}
            return session.execute(sql, args or None, line=line, column=column, variables=True)

        return run_script(text, execute)

    def _expanded(self, text: str) -> str:
        assert self.shell is not None
        expanded: str = self.shell.var_expand(text)  # type: ignore[no-untyped-call]
        return expanded

    def _names(self) -> dict[str, Any]:
        assert self.shell is not None
        names: dict[str, Any] = self.shell.user_ns
        return names


def _error_text(error: AcidSqlError) -> str:
    """The class and the first line of the error, the excerpt of the statement, the other lines."""
    first, *others = f"{type(error).__name__}: {error}".splitlines()
    return "\n".join([first, *([error.excerpt] if error.excerpt else []), *others])


class CellLine:
    """The Display port in the output of the running cell: a line that is emptied at the end."""

    def __init__(self) -> None:
        self._ended: threading.Event | None = None
        self._handle: DisplayHandle | None = None

    def start(self, line: Callable[[], str]) -> None:
        self._ended = ended = threading.Event()
        self._write(line())

        def refresh() -> None:
            while not ended.wait(REFRESH_S):
                self._write(line())
            self._write("")

        self._thread = threading.Thread(target=refresh, name="acidsql progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._ended is not None:
            self._ended.set()
            self._thread.join(REFRESH_S)

    def _write(self, text: str) -> None:
        """Show a text in the place of the text before."""
        data = {"text/plain": text, "text/html": f"<i>{escape(text)}</i>" if text else ""}
        if self._handle is None:
            self._handle = DisplayHandle()  # type: ignore[no-untyped-call]
            self._handle.display(data, raw=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(data, raw=True)  # type: ignore[no-untyped-call]

    def leave(self) -> None:
        """Leave the output of the current cell. The next line goes to the cell that runs then."""
        if self._ended is not None and not self._ended.is_set():
            self._write("")
        self._handle = None


def show(result: Result) -> None:
    """Display the first rows of a result as a table, or a summary of a result without columns."""
    if result.columns:
        rows = list(islice(result, ROWS_SHOWN + 1))
        note = f"Only the first {ROWS_SHOWN} rows are shown." if len(rows) > ROWS_SHOWN else ""
        rows = rows[:ROWS_SHOWN]
        html = html_table(result.columns, rows) + (f"<p>{note}</p>" if note else "")
        plain = "\n".join(filter(None, [plain_table(result.columns, rows), note]))
    else:
        plain = summary(result)
        html = f"<p>{escape(plain)}</p>"
    display({"text/html": html, "text/plain": plain}, raw=True)  # type: ignore[no-untyped-call]


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows for a shell that shows no HTML, one on each line.

    >>> print(plain_table(["a", "b"], [(1, None)]))
    a | b
    1 | NULL
    """
    cells = (["NULL" if value is None else cell_text(value) for value in row] for row in rows)
    return "\n".join(" | ".join(line) for line in (columns, *cells))


def load(ipython: InteractiveShell) -> None:
    """Register the magics with a shell. In a notebook, plain cells show progress as well."""
    ipython.register_magics(AcidSqlMagics(ipython))
    if getattr(ipython, "kernel", None) is not None:
        line = CellLine()
        Relay.else_watched_by(ProgressLine(line, PATIENCE_S))
        ipython.events.register("pre_run_cell", lambda _: line.leave())
