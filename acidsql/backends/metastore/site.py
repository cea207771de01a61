"""Reads the way to the metastore from a hive-site.xml."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from acidsql.errors import ConfigError

_OPTION_OF = {
    "metastore.uris": "uris",
    "metastore.thrift.uris": "uris",
    "metastore.use.SSL": "ssl",
    "metastore.thrift.framed.transport.enabled": "framed",
    "metastore.kerberos.principal": "principal",
    "metastore.client.plain.username": "user",
    "metastore.client.thrift.transport.mode": "transport",
    "metastore.client.thrift.http.path": "path",
}
"""Hive's property, without a "hive." in front → the option of our URLs that means the same."""
_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0}


def read_site(directory: str) -> dict[str, str]:
    """The options of our URLs that the hive-site.xml in a directory sets; ``uris`` are the servers.

    ConfigError if the file cannot be read or has a property that we cannot follow.
    """
    path = Path(directory) / "hive-site.xml"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}", detail=f"{error.strerror}.") from error
    properties = {
        name.removeprefix("hive."): value for name, value in _properties(text, path).items()
    }
    options = {
        option: _plain(properties[name], name, path)
        for name, option in _OPTION_OF.items()
        if properties.get(name)
    }
    if properties.get("metastore.thrift.compact.protocol.enabled", "").lower() == "true":
        raise ConfigError(
            f"{path} has hive.metastore.thrift.compact.protocol.enabled",
            hint="acidsql speaks the binary protocol, which is Hive's default.",
        )
    if properties.get("metastore.sasl.enabled", "").lower() == "true":
        options["auth"] = "kerberos"
    elif properties.get("metastore.client.auth.mode", "").upper() == "PLAIN":
        options["auth"] = "plain"
    timeout = properties.get("metastore.client.socket.timeout")
    if timeout:
        options["timeout"] = str(_seconds(timeout, path))
    return options


def _properties(text: bytes, path: Path) -> dict[str, str]:
    """Name → value of Hadoop's XML. ConfigError for includes and for a DOCTYPE: both name files."""
    found: dict[str, str] = {}
    place: list[str] = []
    words: dict[str, str] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.endswith("include"):
            raise ConfigError(f"{path} includes another file, which is not followed")
        place.append(tag)
        if tag == "property":
            words.clear()

    def end(tag: str) -> None:
        place.pop()
        if tag == "property" and "name" in words:
            found[words["name"].strip()] = words.get("value", "").strip()

    def data(piece: str) -> None:
        if place[-2:-1] == ["property"]:
            words[place[-1]] = words.get(place[-1], "") + piece

    def refuse(*_: object) -> None:
        raise ConfigError(f"{path} has a DOCTYPE, which a hive-site.xml never needs")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ConfigError(f"{path} is not valid XML", detail=f"{error}.") from error
    return found


def _plain(value: str, name: str, path: Path) -> str:
    if "${" in value:
        raise ConfigError(f"{path}: the variable in hive.{name} is not resolved here: {value}")
    return value


def _seconds(text: str, path: Path) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(number) :].strip()
    try:
        return float(number) * _UNITS[unit or "s"]
    except (ValueError, KeyError):
        raise ConfigError(
            f'{path}: "{text}" is not a time for hive.metastore.client.socket.timeout'
        ) from None
