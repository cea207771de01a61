"""Credentials in URLs and in what others say of them: what may be shown, and what is hidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from urllib.parse import quote, unquote, unquote_plus

HIDDEN = "***"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.]{0,19}(?=:)")
_KNOWN = ("sqlite", "postgresql", "postgres", "thrift", "jdbc", "mysql", "http", "https")
"""What is not like one of these need not be a scheme: it may be a user or a password."""
_SECRET_KEY = r"\w*(?:pass|pwd|secret|token|credential|scram)\w*"  # noqa: S105 - what such are called
_PAIR = re.compile(
    rf"(?P<key>{_SECRET_KEY})\s*[=:]\s*(?P<value>'(?:\\.|[^'\\])*'|[^&;\s]*)", re.IGNORECASE
)
_LOGIN = re.compile(r"://(?P<login>.*)@", re.DOTALL)
_ENVIRONMENT = ("PGPASSWORD",)
"""Where a password may come from that is not in a URL."""


def is_quotable(url: str) -> bool:
    """Whether nobody can have meant a part of a URL, or of a text like one, as a password.

    >>> is_quotable("postgresql://h/d?timeout=1"), is_quotable("password = 'x'"), is_quotable("a@h")
    (True, False, False)
    """
    return "@" not in url and not re.search(_SECRET_KEY, url, re.IGNORECASE)


def shown(url: str) -> str:
    """What may be shown of a URL that could not be read.

    >>> shown("postgresq://ann:secret@h/d"), shown("mysql://h/d"), shown("secret@h")
    ('postgresq:…', 'mysql://h/d', '…')
    """
    if is_quotable(url):
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
    spelled = {form(secret) for secret in found for form in (str, unquote, unquote_plus, quote)}
    # The longest first: one may be a part of another.
    for secret in sorted(spelled - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def secrets_of(parameters: Mapping[str, object]) -> list[str]:
    """The values of parameters that are called like secrets.

    >>> secrets_of({"user": "ann", "sslpassword": "x"})
    ['x']
    """
    return [str(v) for k, v in parameters.items() if re.search(_SECRET_KEY, k, re.IGNORECASE)]


def _secrets(url: str) -> set[str]:
    found = set()
    login = _LOGIN.search(url)
    if login is not None:
        found.add(login["login"].partition(":")[2])
    return found | {pair["value"].strip("'") for pair in _PAIR.finditer(url)}
