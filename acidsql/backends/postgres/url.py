"""The place of a store: a libpq URL, with a schema."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from acidsql.errors import ConfigError
from acidsql.model.credentials import is_quotable

DEFAULT_SCHEMA = "acidsql"
_SCHEMA = re.compile(r"(?!pg_)[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Place:
    """``parameters`` are libpq's. ``name`` stands in errors and logs: it has no credentials."""

    parameters: dict[str, Any] = field(repr=False)
    schema: str
    name: str

    @classmethod
    def of(cls, url: str) -> Place:
        """The place of ``postgresql://user@host:port/database?schema=name&…``, or ConfigError.

        >>> Place.of("postgresql://ann:secret@db.example:5433/meta?schema=sales").name
        'postgresql://ann@db.example:5433/meta?schema=sales'
        """
        rest, schema = _take_schema(url)
        parameters: dict[str, Any] | None = None
        with suppress(psycopg.Error):
            parameters = {k: v for k, v in conninfo_to_dict(rest).items() if v is not None}
        # Not chained, and not quoted: libpq's message would show the part that it could not read.
        if parameters is None or not _is_clean(parameters):
            raise ConfigError(
                "the metastore URL cannot be read as a PostgreSQL URL",
                hint="Write postgresql://user@host:port/database; encode special characters "
                "of a password like %40.",
            )
        if not _SCHEMA.fullmatch(schema):
            shown = schema if is_quotable(url) else "…"
            raise ConfigError(
                f'"{shown}" is not usable as the schema of a metastore',
                hint="Letters, digits and underscores, at most 63.",
            )
        return cls(parameters, schema, _name(parameters, schema))


def _is_clean(parameters: dict[str, Any]) -> bool:
    """Whether host, port and database have no part of a password that was not encoded."""
    places = (str(parameters.get(key, "")) for key in ("host", "dbname"))
    ports = str(parameters.get("port", "")).split(",")
    return not any("@" in place for place in places) and all(p.isdigit() or not p for p in ports)


def _take_schema(url: str) -> tuple[str, str]:
    """The URL without the option ``schema``, which libpq does not know, and that schema."""
    base, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    ours = [option for option in options if option.startswith("schema=")]
    rest = "&".join(option for option in options if option not in ours)
    schema = ours[-1].removeprefix("schema=") if ours else DEFAULT_SCHEMA
    return (f"{base}?{rest}" if rest else base), schema


def _name(parameters: dict[str, Any], schema: str) -> str:
    user = f"{parameters['user']}@" if "user" in parameters else ""
    host = parameters.get("host") or parameters.get("hostaddr") or ""
    port = f":{parameters['port']}" if "port" in parameters else ""
    suffix = "" if schema == DEFAULT_SCHEMA else f"?schema={schema}"
    return f"postgresql://{user}{host}{port}/{parameters.get('dbname', '')}{suffix}"
