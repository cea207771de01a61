"""The ways to a server: TLS, SASL, HTTP, and what a hive-site.xml says of them."""

from __future__ import annotations

import http.server
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.metastore.errors import NoConnectionError
from acidsql.backends.metastore.sasl import read_exactly
from acidsql.backends.metastore.url import Http, Kerberos, Place, Plain, Tls
from acidsql.errors import ConfigError, StorageError
from tests.component.backends.metastore.sasl import (
    BAD,
    COMPLETE,
    DATABASES,
    client_of,
    listening,
    sasl_message,
    say,
)
from tests.component.backends.metastore.server import FakeMetastore

# -- SASL


class SaslServer:
    """Takes one user and password, as Hive 4 with PLAIN does, and answers calls in frames."""

    def __init__(self) -> None:
        self.fake = FakeMetastore(**DATABASES)
        self.said: list[Any] = []

    def serve(self, connection: socket.socket) -> None:
        self.said.append(sasl_message(connection))
        self.said.append(sasl_message(connection))
        if self.said[-1][1] != b"\0ann\0se:c@ret":
            say(connection, BAD, b"Error validating the login")
            return
        say(connection, COMPLETE, b"")
        while True:
            (size,) = struct.unpack("!I", read_exactly(connection, 4))
            answer = self.fake.answer(read_exactly(connection, size))
            # Cut anywhere, as a server may.
            for piece in (answer[:7], b"", answer[7:]):
                connection.sendall(struct.pack("!I", len(piece)) + piece)


@pytest.mark.parametrize("options", ["", "?framed=true"])
def test_user_and_password(options: str) -> None:
    """Frames are for those without a login: SASL has its own."""
    server = SaslServer()
    with (
        server.fake,
        listening(server.serve) as port,
        client_of(f"thrift://ann:se%3Ac%40ret@127.0.0.1:{port}{options}") as client,
    ):
        assert len(client.call("get_all_databases")) == 1000
        assert len(client.call("get_all_databases")) == 1000
        assert client.place.name == f"thrift://127.0.0.1:{port}"
        assert "se:c@ret" not in repr(client.place)
    assert server.said[:2] == [(1, b"PLAIN"), (5, b"\0ann\0se:c@ret")]
    assert server.fake.ugis == [], "the server knows it from the login"


def test_a_wrong_password() -> None:
    server = SaslServer()
    with (
        server.fake,
        listening(server.serve) as port,
        pytest.raises(StorageError, match="refused PLAIN") as caught,
    ):
        client_of(f"thrift://ann:wrong@127.0.0.1:{port}").__enter__()
    assert caught.value.detail == "Error validating the login."
    assert "wrong" not in str(caught.value)


def test_another_server_may_want_us() -> None:
    """From facts: HiveMetaStoreClient.open takes a refused login for any other failure."""
    other, asked = SaslServer(), []

    def refuse(connection: socket.socket) -> None:
        asked.append([sasl_message(connection) for _ in range(2)])
        say(connection, BAD, b"GSS initiate failed")

    with other.fake, listening(refuse) as first, listening(other.serve) as second:
        servers = f"thrift://ann:se%3Ac%40ret@127.0.0.1:{first},127.0.0.1:{second}"
        with client_of(servers) as client:
            for _ in range(2):
                assert len(client.call("get_all_databases")) == 1000
        assert len(asked) == 1
        with pytest.raises(StorageError, match="accepts our login") as caught:
            client_of(servers.replace("ret@", "RET@")).__enter__()
        assert len(asked) == 2, "a refusal is final"
        detail = caught.value.detail or ""
        assert f"{first} refused PLAIN: GSS initiate failed." in detail
        assert f"{second} refused PLAIN: Error validating the login." in detail


def test_a_refusal_beside_a_server_that_is_gone() -> None:
    server = SaslServer()
    with server.fake, listening(server.serve) as port, socket.create_server(("127.0.0.1", 0)) as s:
        gone = s.getsockname()[1]
        s.close()
        with pytest.raises(StorageError, match="accepts our login") as caught:
            client_of(f"thrift://ann:wrong@127.0.0.1:{gone},127.0.0.1:{port}").__enter__()
    assert not isinstance(caught.value, NoConnectionError)
    assert f"{gone}: Connection refused." in (caught.value.detail or "")
    assert f"{port} refused PLAIN: Error validating the login." in (caught.value.detail or "")


def test_a_server_without_sasl() -> None:
    with FakeMetastore() as server, pytest.raises(NoConnectionError) as caught:
        client_of(server.url.replace("//", "//ann:secret@")).__enter__()
    assert caught.value.hint is not None
    assert "another login or none" in caught.value.hint


def test_a_server_that_wants_tls_before_sasl() -> None:
    def alert(connection: socket.socket) -> None:
        sasl_message(connection)
        connection.sendall(b"\x15\x03\x03\x00\x02\x02\x16")

    with listening(alert) as port, pytest.raises(NoConnectionError) as caught:
        client_of(f"thrift://ann:secret@127.0.0.1:{port}").__enter__()
    assert caught.value.detail == "It does not speak SASL."
    assert caught.value.hint is not None
    assert "ssl" in caught.value.hint


# -- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, signed by itself, and its key."""
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = directory / "cert.pem", directory / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=metastore",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[FakeMetastore]:
    with FakeMetastore(**DATABASES) as server:
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(*certificate)
        yield server


def test_tls(secure: FakeMetastore, certificate: tuple[Path, Path]) -> None:
    with client_of(f"{secure.url}?ssl=true&cafile={certificate[0]}") as client:
        for _ in range(3):
            assert len(client.call("get_all_databases")) == 1000
    assert len(secure.ugis) <= 2, "connections are used again"


def test_tls_with_a_certificate_of_ours(
    secure: FakeMetastore, certificate: tuple[Path, Path]
) -> None:
    assert secure.tls is not None
    secure.tls.verify_mode = ssl.CERT_REQUIRED
    secure.tls.load_verify_locations(certificate[0])
    url = f"{secure.url}?ssl=true&cafile={certificate[0]}"
    with pytest.raises(StorageError):
        client_of(url).__enter__()
    with client_of(f"{url}&certfile={certificate[0]}&keyfile={certificate[1]}") as client:
        assert client.call("get_all_databases")


def test_a_server_that_nobody_vouches_for(secure: FakeMetastore) -> None:
    with pytest.raises(NoConnectionError) as caught:
        client_of(f"{secure.url}?ssl=true").__enter__()
    assert "certificate verify failed" in str(caught.value)


def test_a_certificate_of_another_host(
    secure: FakeMetastore, certificate: tuple[Path, Path]
) -> None:
    url = f"thrift://localhost:{secure.port}?ssl=true&cafile={certificate[0]}"
    with pytest.raises(NoConnectionError) as caught:
        client_of(url).__enter__()
    assert "certificate verify failed" in str(caught.value)


# -- HTTP


class Requests(http.server.BaseHTTPRequestHandler):
    """Hive 4's servlet: a message in, a message out. Only for ann, or who has the token."""

    protocol_version = "HTTP/1.1"
    fake: FakeMetastore

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        allowed = "ann" in (self.headers["x-actor-username"], self.headers["Authorization"])
        allowed = allowed or self.headers["Authorization"] == "Bearer secret"
        if self.path != "/metastore" or not allowed:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answer = self.fake.answer(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def web() -> Iterator[tuple[int, FakeMetastore]]:
    with FakeMetastore(**DATABASES) as fake:
        handler = type("Handler", (Requests,), {"fake": fake})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port, fake
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("token", ["", "&token=secret"])
def test_http(web: tuple[int, FakeMetastore], token: str) -> None:
    """From facts: Hive 4 with metastore.server.thrift.transport.mode = http."""
    port, fake = web
    with client_of(f"thrift://127.0.0.1:{port}?transport=http{token}") as client:
        for _ in range(2):
            assert len(client.call("get_all_databases")) == 1000
    assert fake.ugis == []


def test_http_at_the_wrong_place(web: tuple[int, FakeMetastore]) -> None:
    port, _ = web
    url = f"thrift://127.0.0.1:{port}?transport=http&path=elsewhere"
    with client_of(url) as client, pytest.raises(StorageError, match="HTTP status 401"):
        client.call("get_all_databases")


# -- URLs and files


def test_options_of_a_url() -> None:
    place = Place.of("thrift://h?ssl=true&cafile=/ca.pem&transport=http&token=secret")
    assert place.tls == Tls("/ca.pem")
    assert place.http == Http("metastore", "secret")
    assert "secret" not in repr(place)
    assert Place.of("thrift://ann:@h1:1,h2").login == Plain("ann", "")
    assert Place.of("thrift://h?auth=ldap&user=a&password=b").login == Plain("a", "b")


@pytest.mark.parametrize(
    "url",
    [
        "thrift://h?auth=plain",
        "thrift://h?auth=magic",
        "thrift://h?auth=kerberos&principal=",
        "thrift://h?transport=pigeon",
        "thrift://h?cafile=/ca.pem",
        "thrift://ann@h",
        "thrift://a:secret@h1,b:secret@h2",
        "thrift:",
    ],
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Place.of(url, environment={})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("thrift://h?auth=kerberos&transport=http", "auth=kerberos of the metastore URL cannot"),
        ("thrift://ann:secret@h?transport=HTTP", "auth=plain of the metastore URL cannot"),
        ("thrift://h?principal=hive/_HOST@R", "principal of the metastore URL needs auth=ker"),
        ("thrift://ann:secret@h?principal=hive/_HOST@R", "principal of the metastore URL needs"),
        ("thrift://h?auth=kerberos&user=ann", "user of the metastore URL needs auth=plain"),
        ("thrift://h?password=secret", "password of the metastore URL needs auth=plain"),
        ("thrift://h?token=secret", "token of the metastore URL needs transport=http"),
        ("thrift://h?path=elsewhere", "path of the metastore URL needs transport=http"),
        ("thrift:?conf={site}&transport=http&auth=kerberos", "auth=kerberos of the metastore URL"),
    ],
)
def test_what_a_url_says_to_no_effect(tmp_path: Path, url: str, why: str) -> None:
    (tmp_path / "hive-site.xml").write_text(SITE)
    with pytest.raises(ConfigError, match=why) as caught:
        Place.of(url.format(site=tmp_path), environment={})
    assert "secret" not in str(caught.value)


def test_a_hive_site_may_say_more_than_is_heeded(tmp_path: Path) -> None:
    (tmp_path / "hive-site.xml").write_text(SITE)
    over_http = Place.of(f"thrift:?conf={tmp_path}&transport=http&path=p&token=t", environment={})
    assert over_http.http == Http("p", "t")
    bare = Place.of(f"thrift://h?conf={tmp_path}&auth=none", environment={})
    assert bare.login is None
    other = Place.of(f"thrift:?conf={tmp_path}&principal=hive/other", environment={})
    assert other.login == Kerberos("hive/other")


def test_a_certificate_that_is_not_there() -> None:
    with FakeMetastore() as server, pytest.raises(ConfigError, match="certificate"):
        client_of(f"{server.url}?ssl=true&cafile=/nothing/ca.pem").__enter__()


def test_tls_to_a_server_without() -> None:
    with FakeMetastore() as server, pytest.raises(NoConnectionError):
        client_of(f"{server.url}?ssl=true&connect_timeout=0.2").__enter__()


SITE = """<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<configuration>
  <property><name>hive.metastore.uris</name>
    <value>thrift://m1.example:9083,thrift://m2.example:9083</value>
    <description>where &amp; how</description></property>
  <property><name>hive.metastore.sasl.enabled</name><value>true</value><final>true</final></property>
  <property><name>hive.metastore.kerberos.principal</name><value>hive/_HOST@EXAMPLE.COM</value>
  </property>
  <property><name>metastore.use.SSL</name><value>false</value></property>
  <property><name>hive.metastore.client.socket.timeout</name><value>90s</value></property>
  <property><name>hive.exec.scratchdir</name><value>${java.io.tmpdir}/hive</value></property>
</configuration>
"""


def test_a_hive_site(tmp_path: Path) -> None:
    (tmp_path / "hive-site.xml").write_text(SITE)
    place = Place.of("thrift:", environment={"HIVE_CONF_DIR": str(tmp_path)})
    assert place.name == "thrift://m1.example:9083,thrift://m2.example:9083"
    assert place.login == Kerberos("hive/_HOST@EXAMPLE.COM")
    assert (place.timeout_s, place.tls) == (90.0, None)
    given = Place.of(f"thrift://other?conf={tmp_path}&timeout=5", environment={})
    assert (given.name, given.timeout_s) == ("thrift://other:9083", 5.0)
    assert given.login == place.login
    named = Place.of("thrift://other", environment={"HIVE_CONF_DIR": str(tmp_path)})
    assert named.login is None, "what is said in full is not mixed with what is not"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<configuration/>", "no hive.metastore.uris"),
        ("<configuration>", "not valid XML"),
        (
            '<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><configuration>&x;'
            "</configuration>",
            "DOCTYPE",
        ),
        (
            '<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="a"/>'
            "</configuration>",
            "includes another file",
        ),
        (SITE.replace("m1.example", "${host}"), "not resolved"),
        (SITE.replace("90s", "soon"), "not a time"),
        (
            SITE.replace("metastore.use.SSL", "metastore.thrift.compact.protocol.enabled").replace(
                ">false<", ">true<"
            ),
            "compact.protocol",
        ),
    ],
)
def test_a_hive_site_that_is_of_no_use(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "hive-site.xml").write_text(text)
    with pytest.raises(ConfigError, match=why):
        Place.of(f"thrift:?conf={tmp_path}")


def test_no_hive_site(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Place.of(f"thrift:?conf={tmp_path}")
