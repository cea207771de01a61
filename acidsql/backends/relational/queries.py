"""Named SQL statements and schema versions, read from .sql files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

_PACKAGE = "acidsql.backends.relational"
_FILES = ("txns.sql", "write_ids.sql", "locks.sql", "compactions.sql", "mutexes.sql", "catalog.sql")
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def parse_queries(text: str) -> dict[str, str]:
    r"""Name → statement. The text before the first name is a comment on the file.

    >>> parse_queries("-- name: one\nSELECT 1;\n")
    {'one': 'SELECT 1;'}
    """
    _, *parts = _NAME.split(text)
    names, statements = parts[::2], parts[1::2]
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise ValueError(f"two statements are named {', '.join(sorted(duplicates))}")
    return {name: text.strip() for name, text in zip(names, statements, strict=True)}


@cache
def load_queries(dialect: str) -> dict[str, str]:
    """Every named statement: the shared ones, and the ones in ``dialect.sql`` of a package.

    Parameters are written ``:name``. ``:now_ms`` is the time of the database, unless a value is
    bound there. ``:txn_ids_as_text`` has the TXN_IDs of a group, with commas between them.
    """
    texts = [files(_PACKAGE).joinpath(name).read_text("utf-8") for name in _FILES]
    own = files(dialect).joinpath("dialect.sql").read_text("utf-8")
    queries = parse_queries("\n".join([*texts, own]))
    clock, _ = queries.pop("clock").split(";")
    joined, _ = queries.pop("txn_ids_as_text").split(";")
    time = f"COALESCE(CAST(:now_ms AS BIGINT), ({clock}))"
    return {
        name: text.replace(":now_ms", time).replace(":txn_ids_as_text", joined)
        for name, text in queries.items()
    }


def load_migrations(dialect: str) -> list[tuple[int, list[str]]]:
    """(schema version, its statements) of a package, ascending.

    The version is the number in the name of the file.
    """
    found = [
        (int(entry.name.split("_")[0]), list(split_statements(entry.read_text("utf-8"))))
        for entry in files(dialect).joinpath("migrations").iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(found)


def split_statements(text: str) -> Iterator[str]:
    r"""The statements of a script one by one, so that they can share one store transaction.

    >>> list(split_statements("SELECT 1;\nSELECT\n2;\n"))
    ['SELECT 1;', 'SELECT\n2;']
    """
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending.strip()
            pending = ""
    if pending.strip():
        raise ValueError(f"a statement is not complete: {pending.strip()[:60]!r}")
