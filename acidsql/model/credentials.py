"""Credentials in URLs and in what others say of them: what may be shown, and what is hidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "***"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.]{0,19}(?=:)")
_KNOWN = ("sqlite", "postgresql", "postgres", "thrift", "jdbc", "mysql", "http", "https")
"""What is not like one of these need not be a scheme: it may be a user or a password."""
_HARMLESS = frozenset({
    "application_name", "auth", "cafile", "certfile", "conf", "connect_timeout", "dbname", "framed",
    "host", "keyfile", "path", "port", "principal", "schema", "ssl", "sslmode", "timeout",
    "transport", "user",
})  # fmt: skip
"""Parameters whose values may be shown of a URL that nobody could read; of others, who knows."""
_WORD = (
    r"(?:pass|pwd|secret|token|credential|scram|signature|jwt|bearer"
    r"|(?:access|account|api|private|shared)[-_.]?key)"
)
"""What a part of the name of a secret is."""
_SHORT = r"(?<![A-Za-z0-9])(?:key|sas|sig)(?![\w.-])"
"""What is all or the end of such a name; in others it may mean anything."""
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
"""How far a secret goes, by whoever may read it: libpq with quotes or without, URLs, JDBC."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LOGINS = (re.compile(r"://(?P<login>.*)@", re.DOTALL), re.compile(r"://(?P<login>[^@]*)@"))
"""To the last @, as it may stand in a password; and to each, as there may be several servers."""
_ENVIRONMENT = ("PGPASSWORD",)
"""Where a password may come from that is not in a URL."""


def is_quotable(url: str) -> bool:
    """Whether nobody can have meant a part of a URL, or of a text like one, as a password.

    >>> is_quotable("postgresql://h/d?timeout=1"), is_quotable("password = 'x'"), is_quotable("a@h")
    (True, False, False)
    """
    return "@" not in url and not any(
        _WORD_ANYWHERE.search(text) or _BEFORE_SECRET.search(text) for text in (url, unquote(url))
    )


def shown(url: str) -> str:
    """What may be shown of a URL that could not be read.

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
    """A text without the secrets of a URL and of the environment, however they are spelled.

    >>> hide("no login for ann with 'a b'", "postgresql://ann:a%20b@h/d?sslpassword=x")
    "no login for ann with '***'"
    """
    return cover(text, _secrets(url))


def cover(text: str, secrets: Iterable[str]) -> str:
    """A text without these secrets and those of the environment, however they are spelled."""
    found = {*secrets, *(os.environ.get(name, "") for name in _ENVIRONMENT)}
    spelled = {form for secret in found for form in _forms(secret)}
    # The longest first: one may be a part of another.
    for secret in sorted(spelled - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _forms(secret: str) -> Iterator[str]:
    """As it is or was decoded, and each of them in a URL, between libpq's quotes and in a repr."""
    for text in (secret, unquote(secret), unquote_plus(secret)):
        yield from (text, quote(text), quote(text, safe=""), quote_plus(text))
        yield from (text.replace("\\", "\\\\").replace("'", "\\'"), repr(text)[1:-1])


def secrets_of(parameters: Mapping[str, object]) -> list[str]:
    """The values of parameters that are called like secrets.

    >>> secrets_of({"user": "ann", "sslpassword": "x"})
    ['x']
    """
    return [str(v) for k, v in parameters.items() if _NAME.search(k)]


def _secrets(url: str) -> set[str]:
    logins = {m["login"].partition(":")[2] for login in _LOGINS for m in login.finditer(url)}
    written = {value for at in _beginnings(url) for value in _values(url, at)}
    # Without the backslashes before what is odd.
    return logins | written | {_ESCAPED.sub(r"\1", value) for value in written}


def _beginnings(url: str) -> set[int]:
    """Where secrets begin, by the names before them; names may be encoded as well."""
    encoded = (m.end() for m in _PARAMETER.finditer(url) if _NAME.search(unquote(m[1])))
    return {m.end() for m in _BEFORE_SECRET.finditer(url)}.union(encoded)


def _values(text: str, at: int) -> Iterator[str]:
    """What a secret that begins there may be."""
    for pattern in _VALUES:
        value = pattern.match(text, at)
        if value is not None:
            yield value[1]
