"""The URL of a metastore: its servers, and how to talk to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from acidsql.backends.metastore.site import read_site
from acidsql.errors import ConfigError

DEFAULT_PORT = 9083
_HINT = (
    "Write thrift://host:9083, or thrift://host1:9083,host2:9083 for several servers of one "
    "metastore; encode special characters of a password like %40."
)
_OPTIONS = (
    "auth", "cafile", "certfile", "conf", "connect_timeout", "framed", "keyfile", "password",
    "path", "principal", "ssl", "timeout", "token", "transport", "user",
)  # fmt: skip


_NEEDED = {
    "principal": ("auth", ("kerberos",)),
    "user": ("auth", ("plain", "ldap")),
    "password": ("auth", ("plain", "ldap")),
    "token": ("transport", ("http",)),
    "path": ("transport", ("http",)),
}
"""Options that have no effect without another option, with the values which that one needs."""


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One server."""

    host: str
    port: int = DEFAULT_PORT

    @property
    def name(self) -> str:
        """The name of the server in errors and logs.

        >>> Endpoint("::1").name
        'thrift://[::1]:9083'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificates of a TLS connection: files in PEM format.

    Without ``cafile`` the system's certificates are trusted. Without ``certfile`` we show none.
    """

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    """User and password, which the metastore checks, for example by LDAP."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Kerberos:
    """A login with Kerberos.

    ``principal`` is that of the servers (hive.metastore.kerberos.principal). _HOST in it stands for
    the name of each server.
    """

    principal: str


@dataclass(frozen=True, slots=True)
class Http:
    """Transport by HTTP (Hive 4). ``path`` is the path of the HTTP URL, ``token`` is a JWT."""

    path: str = "metastore"
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """The servers of one metastore, which share its database, and how to talk to them.

    ``timeout_s`` bounds a whole call, to its last byte and with all further tries. (Hive has the
    same default of 600 s in hive.metastore.client.socket.timeout, but for each read.)
    ``connect_timeout_s`` bounds the time that a server takes to accept, with TLS and login.
    ``framed`` is hive.metastore.thrift.framed.transport.enabled. It has no effect with a login or
    HTTP.
    """

    endpoints: tuple[Endpoint, ...]
    timeout_s: float = 600.0
    connect_timeout_s: float = 10.0
    framed: bool = False
    tls: Tls | None = None
    login: Plain | Kerberos | None = None
    http: Http | None = None

    @property
    def name(self) -> str:
        """The names of the servers in errors and logs, without credentials."""
        return ",".join(e.name for e in self.endpoints)

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str] = os.environ) -> Place:
        """The place of one URL, or of several with commas between them as in hive.metastore.uris.

        Without a server, or with the option ``conf``, a hive-site.xml supplies what the URL does
        not say. Its directory is ``conf`` or else HIVE_CONF_DIR. ConfigError if the URL is not
        valid, or has an option that is unknown or would have no effect.

        >>> Place.of("thrift://a,b:9084?timeout=60").name
        'thrift://a:9083,thrift://b:9084'
        >>> Place.of("thrift://a:9083,thrift://b:9083").endpoints[1].host
        'b'
        """
        servers, _, query = url.partition("?")
        said = dict(parse_qsl(query, keep_blank_values=True))
        options = said
        servers = "" if servers.strip() in ("thrift:", "thrift://") else servers
        _require_known(options)
        if not servers or "conf" in options:
            servers, options = _with_site(servers, options, environment)
        credentials, servers = _take_credentials(servers)
        options = {**options, **credentials}
        _require_effective({**said, **credentials}, options)
        endpoints = tuple(_endpoint(text) for text in servers.split(","))
        return cls(
            tuple(dict.fromkeys(endpoints)),
            timeout_s=_seconds(options, "timeout", 600.0),
            connect_timeout_s=_seconds(options, "connect_timeout", 10.0),
            framed=_flag(options, "framed"),
            tls=_tls(options),
            login=_login(options),
            http=_http(options),
        )


def _require_known(options: Mapping[str, str]) -> None:
    for key in options:
        if key not in _OPTIONS:
            raise ConfigError(
                f'unknown option "{key}" of the metastore URL',
                hint=f"The known options are {', '.join(_OPTIONS)}.",
            )


def _require_effective(said: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Refuse options of the URL that would have no effect.

    A hive-site.xml may have such properties: it serves other clients, too.
    """
    login, over_http = said.get("auth", "none").lower(), _http(options) is not None
    if login != "none" and over_http:
        raise ConfigError(
            f"auth={login} of the metastore URL cannot be used with transport=http",
            detail="Over HTTP a metastore gets the user of connect, or a token.",
        )
    for key, (other, values) in _NEEDED.items():
        if key in said and options.get(other, "").lower() not in values:
            raise ConfigError(f"{key} of the metastore URL needs {other}={values[0]}")


def _with_site(
    servers: str, options: dict[str, str], environment: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    directory = options.get("conf") or environment.get("HIVE_CONF_DIR")
    if not directory:
        raise ConfigError(
            "the metastore URL names no server, and HIVE_CONF_DIR is not set",
            hint="Write thrift://host:9083, or thrift:?conf=DIRECTORY of a hive-site.xml.",
        )
    site = read_site(directory)
    uris = site.pop("uris", "")
    if not servers and not uris:
        raise ConfigError(f"the hive-site.xml in {directory} has no hive.metastore.uris")
    return servers or uris, {**site, **options}


def _take_credentials(servers: str) -> tuple[dict[str, str], str]:
    """User and password before the first server, and the servers without them."""
    before, at, after = servers.rpartition("@")
    if not at:
        return {}, servers
    scheme, slashes, credentials = before.rpartition("://")
    user, colon, password = credentials.partition(":")
    if not (user and colon) or "@" in before or "," in before:
        raise ConfigError("the metastore URL cannot be read", hint=_HINT)
    found = {"auth": "plain", "user": unquote(user), "password": unquote(password)}
    return found, f"{scheme}{slashes}{after}"


def _endpoint(text: str) -> Endpoint:
    text = text.strip()
    parts = urlsplit(text if "://" in text else f"thrift://{text}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    usable = parts.scheme == "thrift" and parts.hostname and port != 0
    if not usable or parts.path.strip("/"):
        # The text is not quoted: a part of it may be meant as a password.
        raise ConfigError("the metastore URL cannot be read", hint=_HINT)
    assert parts.hostname is not None
    return Endpoint(parts.hostname, port or DEFAULT_PORT)


def _tls(options: Mapping[str, str]) -> Tls | None:
    files = [options.get(key) or None for key in ("cafile", "certfile", "keyfile")]
    if _flag(options, "ssl"):
        return Tls(*files)
    if any(files):
        raise ConfigError("certificates of the metastore URL need ssl=true")
    return None


def _login(options: Mapping[str, str]) -> Plain | Kerberos | None:
    match options.get("auth", "none").lower():
        case "none":
            return None
        case "plain" | "ldap":
            if not options.get("user") or "password" not in options:
                raise ConfigError(
                    "auth=plain of the metastore URL needs a user and a password",
                    hint="Write thrift://user:password@host:9083.",
                )
            return Plain(options["user"], options["password"])
        case "kerberos":
            principal = options.get("principal", "hive/_HOST")
            if not principal:
                raise ConfigError(
                    "the metastore URL has an empty principal",
                    hint="Write principal=hive/_HOST@REALM; _HOST stands for each server's name.",
                )
            return Kerberos(principal)
        case other:
            raise ConfigError(
                f'auth of the metastore URL must be none, plain or kerberos, not "{other}"'
            )


def _http(options: Mapping[str, str]) -> Http | None:
    match options.get("transport", "binary").lower():
        case "binary":
            return None
        case "http":
            return Http(options.get("path", "metastore").strip("/"), options.get("token"))
        case other:
            raise ConfigError(
                f'transport of the metastore URL must be binary or http, not "{other}"'
            )


def _seconds(options: Mapping[str, str], key: str, default: float) -> float:
    text = options.get(key)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f'{key} of the metastore URL must be seconds above 0, not "{text}"')
    return seconds


def _flag(options: Mapping[str, str], key: str) -> bool:
    text = options.get(key, "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(f'{key} of the metastore URL must be "true" or "false", not "{text}"')
    return text == "true"
