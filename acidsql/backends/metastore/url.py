"""Where a metastore is: its servers, and how to talk to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from acidsql.errors import ConfigError

DEFAULT_PORT = 9083
_HINT = (
    "Write thrift://host:9083, or thrift://host1:9083,host2:9083 for several servers of one "
    "metastore."
)


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One server."""

    host: str
    port: int = DEFAULT_PORT

    @property
    def name(self) -> str:
        """What errors and logs say.

        >>> Endpoint("::1").name
        'thrift://[::1]:9083'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Place:
    """The servers of one metastore, which share its database, and how to talk to them.

    ``timeout_s`` is how long an answer may take (hive.metastore.client.socket.timeout, 600 s in
    Hive as well), ``connect_timeout_s`` how long a server may take to accept. ``framed`` is
    hive.metastore.thrift.framed.transport.enabled.
    """

    endpoints: tuple[Endpoint, ...]
    timeout_s: float = 600.0
    connect_timeout_s: float = 10.0
    framed: bool = False

    @property
    def name(self) -> str:
        """What errors and logs say, without credentials."""
        return ",".join(e.name for e in self.endpoints)

    @classmethod
    def of(cls, url: str) -> Place:
        """From one URL, or several with commas between them as hive.metastore.uris has them.

        ConfigError if it is none, or has an option that is unknown.

        >>> Place.of("thrift://a,b:9084?timeout=60").name
        'thrift://a:9083,thrift://b:9084'
        >>> Place.of("thrift://a:9083,thrift://b:9083").endpoints[1].host
        'b'
        """
        servers, _, query = url.partition("?")
        endpoints = tuple(_endpoint(text) for text in servers.split(","))
        options = dict(parse_qsl(query, keep_blank_values=True))
        return _with_options(cls(tuple(dict.fromkeys(endpoints))), options)


def _endpoint(text: str) -> Endpoint:
    text = text.strip()
    parts = urlsplit(text if "://" in text else f"thrift://{text}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    usable = parts.scheme == "thrift" and parts.hostname and port != 0
    if not usable or parts.path.strip("/") or parts.username is not None:
        # Not quoted: it may hold what was meant as a password.
        raise ConfigError("the metastore URL cannot be read", hint=_HINT)
    assert parts.hostname is not None
    return Endpoint(parts.hostname, port or DEFAULT_PORT)


def _with_options(place: Place, options: Mapping[str, str]) -> Place:
    for key, value in options.items():
        match key:
            case "timeout":
                place = replace(place, timeout_s=_seconds(key, value))
            case "connect_timeout":
                place = replace(place, connect_timeout_s=_seconds(key, value))
            case "framed":
                place = replace(place, framed=_flag(key, value))
            case _:
                raise ConfigError(
                    f'unknown option "{key}" of the metastore URL',
                    hint="Known are timeout, connect_timeout and framed.",
                )
    return place


def _seconds(key: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f'"{value}" is no time in seconds for {key} of the metastore URL')
    return seconds


def _flag(key: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ConfigError(f'{key} of the metastore URL is "true" or "false", not "{value}"')
    return value.lower() == "true"
