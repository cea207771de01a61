"""Credentials in URLs and in messages about them: which text may be shown and which is hidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "***"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.]{0,19}(?=:)")
_KNOWN = ("sqlite", "postgresql", "postgres", "thrift", "jdbc", "mysql", "http", "https")
"""Known schemes. A word unlike all of these may be a user or a password instead of a scheme."""
_HARMLESS = frozenset({
    "application_name", "auth", "cafile", "certfile", "conf", "connect_timeout", "dbname", "framed",
    "host", "keyfile", "path", "port", "principal", "schema", "ssl", "sslmode", "timeout",
    "transport", "user",
})  # fmt: skip
"""Parameters whose values may be shown of a URL that cannot be parsed; others may be secrets."""
_WORD = (
    r"(?:pass|pwd|secret|token|credential|scram|signature|jwt|bearer"
    r"|(?:access|account|api|private|shared)[-_.]?key)"
)
"""A word that marks the name of a secret wherever it stands in the name."""
_SHORT = r"(?<![A-Za-z0-9])(?:key|sas|sig)(?![\w.-])"
"""A word that marks the name of a secret only if it is the whole name or its end."""
_WORD_ANYWHERE = re.compile(_WORD, re.IGNORECASE)
_NAME = re.compile(rf"{_WORD}|{_SHORT}", re.IGNORECASE)
_BEFORE_SECRET = re.compile(rf"(?:{_WORD}(?:\w*\s*:|[\w.-]*\s*=)|{_SHORT}\s*=)\s*", re.IGNORECASE)
_PARAMETER = re.compile(r"[?&;]\s*([^?&;=\s]*)\s*=")
_VALUES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"'((?:\\.|[^'\\])*)",
        r'"((?:\\.|[^"\\])*)',
        r"((?:\\.|[^\s\\])*)",
        r"([^&]*)", r"([^;]*)", r"([^&;]*)", r"(\S*)", r"([^&;\s]*)", r"([^&;\s'\"]*)",
    )
)  # fmt: skip
"""How far a secret reaches, for each possible reader: libpq with or without quotes, URLs, JDBC."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LOGINS = (re.compile(r"://(?P<login>.*)@", re.DOTALL), re.compile(r"://(?P<login>[^@]*)@"))
"""Logins up to the last @, since a password may contain one, and up to each @, since a URL may name
several servers."""
_ENVIRONMENT = ("PGPASSWORD",)
"""Environment variables that may hold a password."""


def is_quotable(url: str) -> bool:
    """Whether no part of a URL, or of a text like one, can be meant as a password.

    >>> is_quotable("postgresql://h/d?timeout=1"), is_quotable("password = 'x'"), is_quotable("a@h")
    (True, False, False)
    """
    return "@" not in url and not any(
        _WORD_ANYWHERE.search(text) or _BEFORE_SECRET.search(text) for text in (url, unquote(url))
    )


def shown(url: str) -> str:
    """The part of a URL that may be shown although the URL cannot be parsed.

    >>> shown("postgresq://ann:secret@h/d"), shown("mysql://h/d"), shown("secret@h")
    ('postgresq:…', 'mysql://h/d', '…')
    >>> shown("mysql://h/d?user=ann"), shown("mysql://h/d?what=ever")
    ('mysql://h/d?user=ann', 'mysql:…')
    """
    if is_quotable(url) and _HARMLESS.issuperset(map(str.lower, _PARAMETER.findall(url))):
        return url
    scheme = _SCHEME.match(url)
    known = get_close_matches(scheme[0].lower(), _KNOWN, 1) if scheme else []
    return f"{scheme[0]}:…" if scheme and known else "…"


def hide(text: str, url: str) -> str:
    """The text with *** for each secret of the URL and the environment, in any spelling.

    >>> hide("no login for ann with 'a b'", "postgresql://ann:a%20b@h/d?sslpassword=x")
    "no login for ann with '***'"
    """
    return cover(text, _secrets(url))


def cover(text: str, secrets: Iterable[str]) -> str:
    """The text with *** for each of these secrets and those of the environment, in any spelling."""
    found = {*secrets, *(os.environ.get(name, "") for name in _ENVIRONMENT)}
    spelled = {form for secret in found for form in _spellings(secret)}
    # The longest secret comes first, because one secret may be a part of another.
    for secret in sorted(spelled - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _spellings(secret: str) -> Iterator[str]:
    """The spellings of a secret: given or decoded, URL-encoded, quoted for libpq, in a repr."""
    for text in (secret, unquote(secret), unquote_plus(secret)):
        yield from (text, quote(text), quote(text, safe=""), quote_plus(text))
        yield from (text.replace("\\", "\\\\").replace("'", "\\'"), repr(text)[1:-1])


def secrets_of(parameters: Mapping[str, object]) -> list[str]:
    """The values of the parameters that have names of secrets.

    >>> secrets_of({"user": "ann", "sslpassword": "x"})
    ['x']
    """
    return [str(v) for k, v in parameters.items() if _NAME.search(k)]


def _secrets(url: str) -> set[str]:
    logins = {m["login"].partition(":")[2] for login in _LOGINS for m in login.finditer(url)}
    written = {value for at in _secret_starts(url) for value in _values(url, at)}
    # Drivers drop the backslash before an escaped character.
    return logins | written | {_ESCAPED.sub(r"\1", value) for value in written}


def _secret_starts(url: str) -> set[int]:
    """The offsets at which secrets begin, found by the names before them, URL-encoded or not."""
    encoded = (m.end() for m in _PARAMETER.finditer(url) if _NAME.search(unquote(m[1])))
    return {m.end() for m in _BEFORE_SECRET.finditer(url)}.union(encoded)


def _values(text: str, at: int) -> Iterator[str]:
    """Each text that the secret which begins at this offset may be."""
    for pattern in _VALUES:
        value = pattern.match(text, at)
        if value is not None:
            yield value[1]
