"""Where a metastore is: its servers, and how to talk to them."""

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
"""Options that say nothing without another one."""


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
class Tls:
    """How a server is recognised, and how we are: files in PEM format. None of them: the system's
    certificates, and no certificate of ours.
    """

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    """User and password, which the metastore has checked by LDAP or whatever it is set up with."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Kerberos:
    """``principal`` is the servers' (hive.metastore.kerberos.principal); _HOST: each one's name."""

    principal: str


@dataclass(frozen=True, slots=True)
class Http:
    """Hive 4's other transport: ``path`` is that of the URL, ``token`` a JWT."""

    path: str = "metastore"
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """The servers of one metastore, which share its database, and how to talk to them.

    ``timeout_s`` is how long a whole call may take, to its last byte and with all other tries
    (hive.metastore.client.socket.timeout, 600 s in Hive as well, is there for each read);
    ``connect_timeout_s`` how long a server may take to accept, TLS and login included. ``framed``
    is hive.metastore.thrift.framed.transport.enabled, which counts where there is neither login
    nor HTTP.
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
        """What errors and logs say, without credentials."""
        return ",".join(e.name for e in self.endpoints)

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str] = os.environ) -> Place:
        """From one URL, or several with commas between them as hive.metastore.uris has them.

        Without a server, or with the option ``conf``, what is not in the URL is taken from the
        hive-site.xml in the directory of ``conf``, else of HIVE_CONF_DIR. ConfigError if the URL
        is none, or has an option that is unknown or would be ignored.

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
        _require_heeded({**said, **credentials}, options)
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
                hint=f"Known are {', '.join(_OPTIONS)}.",
            )


def _require_heeded(said: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Refuse what the URL says to no effect. A hive-site.xml may: it is for others too."""
    login, over_http = said.get("auth", "none").lower(), _http(options) is not None
    if login != "none" and over_http:
        raise ConfigError(
            f"auth={login} of the metastore URL is not for transport=http",
            detail="Over HTTP a metastore is told the user of connect, or given a token.",
        )
    for key, (other, values) in _NEEDED.items():
        if key in said and options.get(other, "").lower() not in values:
            raise ConfigError(f"{key} of the metastore URL is for {other}={values[0]}")


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
        # Not quoted: it may hold what was meant as a password.
        raise ConfigError("the metastore URL cannot be read", hint=_HINT)
    assert parts.hostname is not None
    return Endpoint(parts.hostname, port or DEFAULT_PORT)


def _tls(options: Mapping[str, str]) -> Tls | None:
    files = [options.get(key) or None for key in ("cafile", "certfile", "keyfile")]
    if _flag(options, "ssl"):
        return Tls(*files)
    if any(files):
        raise ConfigError("certificates of the metastore URL are for ssl=true")
    return None


def _login(options: Mapping[str, str]) -> Plain | Kerberos | None:
    match options.get("auth", "none").lower():
        case "none":
            return None
        case "plain" | "ldap":
            if not options.get("user") or "password" not in options:
                raise ConfigError(
                    "the metastore wants a user and a password",
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
                f'auth of the metastore URL is none, plain or kerberos, not "{other}"'
            )


def _http(options: Mapping[str, str]) -> Http | None:
    match options.get("transport", "binary").lower():
        case "binary":
            return None
        case "http":
            return Http(options.get("path", "metastore").strip("/"), options.get("token"))
        case other:
            raise ConfigError(f'"{other}" is no transport of a metastore URL: binary or http')


def _seconds(options: Mapping[str, str], key: str, default: float) -> float:
    text = options.get(key)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f'"{text}" is no time in seconds for {key} of the metastore URL')
    return seconds


def _flag(options: Mapping[str, str], key: str) -> bool:
    text = options.get(key, "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(f'{key} of the metastore URL is "true" or "false", not "{text}"')
    return text == "true"
