"""Results as text: a table for people; JSON, JSON lines, CSV and TSV for programs.

In the formats for programs, standard output has only rows: summaries go to standard error. The
results of one run follow one another. In CSV and TSV each result has its own header, with a blank
line between two results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TextIO, get_args

from acidsql.execution.result import count_text, summary
from acidsql.model.value_text import cell_text, json_object

if TYPE_CHECKING:
    from acidsql.execution.result import Result

Format = Literal["table", "json", "jsonl", "csv", "tsv"]
FORMATS: tuple[str, ...] = get_args(Format)

_CSV_SPECIAL = re.compile(r'[",\r\n]')
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_NAMED_CONTROLS = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


@dataclass
class Printer:
    """Writes results to ``out`` in one format. In formats for programs summaries go to ``err``."""

    format: Format
    out: TextIO
    err: TextIO
    quiet: bool = False
    _printed: bool = False

    def print(self, result: Result) -> None:
        """Print the rows of a result with columns, or the summary of a result without."""
        if result.columns:
            self._print_rows(result)
        elif not self.quiet:
            stream = self.out if self.format == "table" else self.err
            stream.write(summary(result) + "\n")
            stream.flush()

    def _print_rows(self, result: Result) -> None:
        match self.format:
            case "table":
                rows = result.fetchall()
                print_table(result.columns, rows, self.out)
                if not self.quiet:
                    counted = f"({count_text(len(rows), 'row')})"
                    self.out.write(f"{result.message or counted}\n")
            case "json":
                self.out.writelines(json_array(result))
            case "jsonl":
                self.out.writelines(json_lines(result))
            case "csv":
                self._print_blocks(csv_lines(result))
            case "tsv":
                self._print_blocks(tsv_lines(result))
        self.out.flush()

    def _print_blocks(self, lines: Iterator[str]) -> None:
        if self._printed:
            self.out.write("\r\n" if self.format == "csv" else "\n")
        self._printed = True
        self.out.writelines(lines)


def json_array(result: Result) -> Iterator[str]:
    """The rows as one JSON array, with one object on each line."""
    separator = "["
    for row in result:
        yield separator + json_object(result.columns, row)
        separator = ",\n"
    yield "[]\n" if separator == "[" else "]\n"


def json_lines(result: Result) -> Iterator[str]:
    """The rows as JSON objects, one on each line."""
    for row in result:
        yield json_object(result.columns, row) + "\n"


def csv_lines(result: Result) -> Iterator[str]:
    """Header and rows by RFC 4180. NULL is an empty field, the empty string is ``""``."""
    yield ",".join(map(_csv_cell, result.columns)) + "\r\n"
    for row in result:
        yield ",".join(map(_csv_cell, row)) + "\r\n"


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    text = cell_text(value)
    if not text or _CSV_SPECIAL.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def tsv_lines(result: Result) -> Iterator[str]:
    r"""Header and rows with tabs between the cells.

    NULL is ``\N``; tab, newline and backslash are escaped with a backslash.
    """
    yield "\t".join(map(_tsv_cell, result.columns)) + "\n"
    for row in result:
        yield "\t".join(map(_tsv_cell, row)) + "\n"


def _tsv_cell(value: object) -> str:
    return "\\N" if value is None else cell_text(value).translate(_TSV_ESCAPES)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], out: TextIO) -> None:
    """Print a table with rules. It is plain ASCII of any width if ``out`` is no terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = out.isatty()
    table = Table(box=box.ROUNDED if terminal else box.ASCII2)
    for index, name in enumerate(columns):
        table.add_column(
            Text(_table_cell(name)),
            justify="right" if _is_numeric(rows, index) else "left",
            overflow="fold",
            no_wrap=not terminal,
        )
    for row in rows:
        table.add_row(*(Text(_table_cell(value)) for value in row))
    console = Console(
        file=out,
        force_terminal=terminal,
        width=None if terminal else 1_000_000,
        legacy_windows=False,
    )
    console.print(table, soft_wrap=False, crop=False)


def _table_cell(value: object) -> str:
    if value is None:
        return "NULL"
    # A control character in a cell could move the cursor of the reader's terminal.
    return _CONTROL.sub(_visible, cell_text(value))


def _visible(match: re.Match[str]) -> str:
    return _NAMED_CONTROLS.get(match[0], f"\\x{ord(match[0]):02x}")


def _is_numeric(rows: Sequence[Sequence[object]], index: int) -> bool:
    known = next((row[index] for row in rows if row[index] is not None), None)
    return isinstance(known, (int, float, Decimal)) and not isinstance(known, bool)
