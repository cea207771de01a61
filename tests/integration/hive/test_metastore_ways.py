"""The ways to a real metastore that is set up otherwise than the tests' usual one."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.errors import StorageError, TooManyOpenTxnsError
from tests.integration.hive.conftest import BUILD, VERSIONS, free_port
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive


@dataclass(frozen=True)
class Way:
    """The metastore's settings, a URL that leads there, and others with what is said to them.

    {home} and {port} stand for what the test makes.
    """

    version: int
    settings: dict[str, str]
    url: str
    others: dict[str, str]


PLAIN = "thrift://127.0.0.1:{port}?timeout=5"
TLS = {
    "metastore.use.SSL": "true",
    "metastore.keystore.path": "{home}/keystore.jks",
    "metastore.keystore.password": "secret",
}
TLS_URL = "thrift://127.0.0.1:{port}?ssl=true&cafile={home}/cert.pem"
NO_THRIFT = "does not speak plain binary Thrift"
WAYS = {
    "tls": Way(4, TLS, TLS_URL, {PLAIN: NO_THRIFT, f"{PLAIN}&ssl=true": "verify failed"}),
    "tls of Hive 3": Way(3, TLS, TLS_URL, {PLAIN: NO_THRIFT}),
    "http": Way(
        4,
        {"metastore.server.thrift.transport.mode": "http"},
        "thrift://127.0.0.1:{port}?transport=http",
        {PLAIN: NO_THRIFT},
    ),
    "password": Way(
        4,
        {
            "metastore.authentication": "CONFIG",
            "metastore.authentication.config.username": "ann",
            "metastore.authentication.config.password": "secret",
            "metastore.execute.setugi": "false",
        },
        "thrift://ann:secret@127.0.0.1:{port}",
        {
            "thrift://ann:guess@127.0.0.1:{port}": "refused PLAIN",
            "thrift://ann:guess@127.0.0.1:{port},localhost:{port}": "no server of the metastore",
            PLAIN: "ssl, auth and transport",
        },
    ),
    "framed": Way(
        4,
        {"metastore.thrift.framed.transport.enabled": "true"},
        "thrift://127.0.0.1:{port}?framed=true",
        {PLAIN: "cannot connect"},
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_way(way: Way, tmp_path: Path) -> None:
    _make_certificate(tmp_path)
    port = free_port()
    settings = {}
    for name, value in way.settings.items():
        # Under both names: a metastore within another process looks for either.
        settings[name] = settings[f"hive.{name}"] = value.format(home=tmp_path)
    with Hive(way.version, BUILD, tmp_path / "hive", port, settings):
        store = MetastoreStore(way.url.format(home=tmp_path, port=port), user="ann")
        txn_id = store.open_txn("ann", "here")
        assert [store.valid_txns(txn_id).high_watermark for _ in range(3)] == [txn_id] * 3
        assert store.databases() == ["default"]
        store.close()
        for url, refusal in way.others.items():
            with pytest.raises(StorageError) as caught:
                MetastoreStore(url.format(port=port), user="ann")
            assert refusal in str(caught.value)


@pytest.mark.parametrize("version", VERSIONS, ids=["hive4", "hive3"])
def test_too_many_open_transactions(version: int, tmp_path: Path) -> None:
    settings = {"hive.max.open.txns": "5"}
    with Hive(version, BUILD, tmp_path / "hive", free_port(), settings) as hive:
        store = MetastoreStore(hive.metastore_url, user="ann")
        opened = store.open_txns(5, "ann", "here")
        hive.run("!count")
        with pytest.raises(TooManyOpenTxnsError, match=r"hive\.max\.open\.txns") as caught:
            store.open_txn("ann", "here")
        assert caught.value.detail == "5 transactions are open in the metastore, whose limit is 5."
        store.abort_txn(opened[0])
        with pytest.raises(TooManyOpenTxnsError):
            store.open_txn("ann", "here")
        store.abort_txn(opened[1])
        hive.run("!count")
        assert store.open_txn("ann", "here") > opened[-1]
        store.close()


def _make_certificate(home: Path) -> None:
    """A certificate of 127.0.0.1, and Java's form of it with the key."""
    commands = [
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2"
        " -subj /CN=metastore -addext subjectAltName=IP:127.0.0.1",
        "openssl pkcs12 -export -in cert.pem -inkey key.pem -out keys.p12 -passout pass:secret",
        "keytool -importkeystore -srckeystore keys.p12 -srcstoretype PKCS12 -srcstorepass secret"
        " -destkeystore keystore.jks -deststoretype JKS -deststorepass secret",
    ]
    for command in commands:
        subprocess.run(command.split(), cwd=home, check=True, capture_output=True)
