"""Passwords are in no error, log, repr or message, whatever the URL looks like."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

import hypothesis.strategies as st
import psycopg
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings

import acidsql
from acidsql.backends.postgres.errors import no_connection
from acidsql.backends.postgres.url import Place
from acidsql.cli.main import main
from acidsql.errors import AcidSqlError
from acidsql.model.credentials import hide, is_quotable, secrets_of, shown
from acidsql.settings import Settings

SPELLINGS = (
    "postgresql://ann:{}@127.0.0.1:1/meta",
    "postgres://ann:{}@127.0.0.1:1/meta?sslmode=disable",
    "postgresql://ann:{}@/meta?host=/nowhere",
    "postgresql://127.0.0.1:1/meta?password={}",
    "postgresql://127.0.0.1:1/meta?user=ann&sslpassword={}&sslmode=disable",
    "postgresql://ann:{}@127.0.0.1:1/meta?schema=a-b",
    "postgresql://ann:{}@127.0.0.1:1/meta?no_option=1",
    "postgresql://127.0.0.1:1/meta?schema={}&password={}",
    "postgresq://ann:{}@host/meta",
    "postgresql:ann:{}@host/meta",
    "postgresql:/ann:{}@host/meta",
    "jdbc:postgresql://host/meta?user=ann&password={}",
    "jdbc:mysql://ann:{}@host/meta",
    "host=127.0.0.1 port=1 dbname=meta user=ann password={}",
    "host=127.0.0.1 password='{}'",
    "ann:{}@host/meta",
    "{}@host",
    "thrift://ann:{}@127.0.0.1:99999",
    "thrift://ann:{}@host?timeout=no",
    "thrift://host?auth=plain&user=ann&password={}&framed=perhaps",
    "thrift://host?transport=http&token={}&ssl=perhaps",
    "thrift://host?auth=plain&password={}&nothing=1",
    "thrft://ann:{}@host",
    "mysql://host/meta?apikey={}",
    "mysql://host/meta?api_key={}&ssl=true",
    "mysql://host/meta?API-Key={}",
    "https://host/meta?key={}",
    "https://host/meta?sv=2024&sas={}",
    "https://host/meta?sv=2024&sig={}&se=2030",
    "https://host/meta?X-Amz-Signature={}",
    "jdbc:snowflake://host/?user=ann&private_key={}",
    "jdbc:hive2://host/meta;ssl=true;private_key={};user=ann",
    "jdbc:hive2://host/meta;user=ann;accessKey={}",
    "jdbc:hive2://host/meta;whatever_it_is_called={}",
    "jdbc:hive2://host/meta;jwt={}",
    "mysql://host/meta?p%61ssword={}",
    "mysql://host/meta?nobody_knows={}",
    "postgresql://127.0.0.1:1/meta?apikey={}",
    "thrift://host?private_key={}",
    "host=127.0.0.1 api_key='{}'",
    "AccountName=ann;AccountKey={};",
)
"""None of them can be opened; {} is where a password stands, or is meant to."""

LETTERS = "abcdefXYZ0189"
ODD = "/@:?#%&=+ '\"\\.,;[]é"
WORDS = st.text(LETTERS, min_size=7, max_size=10).map(lambda text: f"q{text}z")
SECRETS = st.builds("".join, st.lists(st.sampled_from(ODD) | WORDS, max_size=4)).flatmap(
    lambda text: WORDS.map(lambda word: text + word)
)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__]
    return iter(seen)


def parts(secret: str) -> list[str]:
    """A secret, as it is written in a URL, and the words that it is made of."""
    return [secret, quote(secret, safe=""), *words(secret)]


def words(secret: str) -> list[str]:
    return re.findall(r"q\w{7,}z", secret)


def told(error: AcidSqlError) -> str:
    """Everything that anybody may be shown of an error."""
    shown = [f"{one}\n{one!r}\n{one.args}\n{vars(one)}" for one in chain(error)]
    return "\n".join([*shown, *traceback.format_exception(error)])


@given(spelling=st.sampled_from(SPELLINGS), secret=SECRETS, encoded=st.booleans())
@example(spelling=SPELLINGS[0], secret="qaaaaaaaz/qbbbbbbbz", encoded=False)
@example(spelling=SPELLINGS[0], secret="qaaaaaaaz@qbbbbbbbz", encoded=False)
@example(spelling=SPELLINGS[0], secret="12/qaaaaaaaz", encoded=False)
@example(spelling=SPELLINGS[7], secret="qaaaaaaaz", encoded=False)
@settings(deadline=None)
def test_no_error_shows_a_password(spelling: str, secret: str, encoded: bool) -> None:
    written = quote(secret, safe="") if encoded else secret
    url = spelling.replace("{}", written)
    with pytest.raises(AcidSqlError) as caught:
        acidsql.connect("/nowhere/w", metastore=url)
    text = told(caught.value)
    assert [part for part in parts(secret) if part in text] == []
    settings = Settings.of("/w", metastore=url, config={"spark.hadoop.fs.s3a.secret.key": secret})
    assert [part for part in parts(secret) if part in f"{settings!r} {settings}"] == []


@pytest.mark.parametrize("command", [("run", "-e", "SHOW TABLES"), ("service", "--once")])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_command_shows_a_password(
    spelling: str,
    command: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "qs3cr3t1z/q0ther1z"
    monkeypatch.setenv("PGPASSWORD", "qenv1r0nz")
    caplog.set_level(logging.DEBUG)
    url = spelling.replace("{}", secret)
    done = CliRunner().invoke(main, [*command, "--metastore", url, "--warehouse", "/nowhere/w"])
    assert done.exit_code == 2
    assert done.exception is None or isinstance(done.exception, SystemExit)
    for part in (*parts(secret), "qenv1r0nz"):
        assert part not in done.output + done.stderr + caplog.text


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        (["-D", "javax.jdo.option.ConnectionPassword:s3cret"], "s3cret"),
        (["-D", "hive.max.open.txns=s3cret"], "s3cret"),
        (["-D", "hive.metastore.password=s3cret"], "s3cret"),
    ],
)
def test_no_property_shows_a_password(options: list[str], hidden: str) -> None:
    done = CliRunner().invoke(
        main, ["run", "--metastore", "memory:", *options, "-e", "SHOW TABLES"]
    )
    assert done.exit_code in (1, 2)
    assert hidden not in done.output + done.stderr


NAMES = (
    "password", "sslpassword", "apikey", "apiKey", "api_key", "x-api-key", "key", "private_key",
    "privateKey", "secret", "client_secret", "fs.s3a.secret.key", "token", "sas_token", "sas",
    "sig", "access_key", "AccountKey", "shared-key", "X-Amz-Signature", "jwt", "bearer",
    "credential", "fs.azure.account.key.ann.blob",
)  # fmt: skip


def escaped(secret: str) -> str:
    """As libpq has it between quotes."""
    return secret.replace("\\", "\\\\").replace("'", "\\'")


def escaped_bare(secret: str) -> str:
    """As libpq has it without quotes."""
    return re.sub(r"([\\' ])", r"\\\1", secret)


FORMS: dict[str, Callable[[str, str], str]] = {
    "query": lambda name, s: f"postgresql://h/d?ssl=x&{name}={quote(s, safe='')}&user=ann",
    "query with plus signs": lambda name, s: f"postgresql://h/d?{name}={quote_plus(s)}",
    "query as it is": lambda name, s: f"mysql://h/d?{name}={s.replace('&', '')}&user=ann",
    "name encoded": lambda name, s: f"mysql://h/d?%{ord(name[0]):x}{name[1:]}={quote(s)}",
    "semicolons": lambda name, s: f"jdbc:hive2://h/d;{name}={s.replace(';', '')};user=ann",
    "quoted": lambda name, s: f"host=h {name}='{escaped(s)}' user=ann",
    "quoted, with spaces": lambda name, s: f"host=h {name} = '{escaped(s)}'",
    "quoted without end": lambda name, s: f"host=h {name}='{escaped(s)}",
    "bare": lambda name, s: f"host=h {name}={escaped_bare(s)} user=ann",
    "double quotes": lambda name, s: f'host=h {name}="{s.replace(chr(34), "")}" user=ann',
}


@given(name=st.sampled_from(NAMES), form=st.sampled_from(sorted(FORMS)), secret=SECRETS)
@example(name="password", form="quoted", secret="a'b qccccccccz")
@example(name="password", form="quoted", secret="qaaaaaaaz' user='qbbbbbbbz")
@example(name="key", form="bare", secret="a b\\qccccccccz")
@example(name="secret", form="query as it is", secret="qaaaaaaaz;qbbbbbbbz qccccccccz")
@settings(deadline=None)
def test_what_a_driver_says_of_a_secret_is_hidden(name: str, form: str, secret: str) -> None:
    """However the driver has read it, and writes it."""
    url = FORMS[form](name, secret)
    if form == "query as it is":
        secret = secret.replace("&", "")
    elif form == "semicolons":
        secret = secret.replace(";", "")
    elif form == "double quotes":
        secret = secret.replace('"', "")
    written = (secret, escaped(secret), quote(secret), quote(secret, safe=""), f"{secret!r}")
    text = hide("; ".join(f"no {one} here" for one in written), url)
    assert [part for part in (secret, *words(secret)) if part in text] == []
    assert not is_quotable(url)
    assert [part for part in words(secret) if part in shown(url)] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_a_secret_is_called(name: str) -> None:
    assert secrets_of({"user": "ann", name: "x"}) == ["x"]


@pytest.mark.parametrize(
    "name", ["user", "sslkey", "keyfile", "keytab", "sslmode", "host", "signal", "monkey", "schema"]
)
def test_what_is_no_secret(name: str) -> None:
    assert secrets_of({name: "x"}) == []
    assert hide("in x", f"mysql://h/d?{name}=x") == "in x"


@pytest.mark.parametrize(
    "text",
    [
        "mysql://host:3306/meta",
        "mysql://host/meta?user=ann&ssl=true",
        "hive.max.open.txns",
        "SELECT * FROM t WHERE id = 7",
        "file:///w/t/k=1",
    ],
)
def test_what_may_be_shown(text: str) -> None:
    assert shown(text) == text


def test_what_the_driver_of_postgresql_says() -> None:
    """Spaces of a password are its own, wherever the driver's lines are joined."""
    place = Place.of("postgresql://ann:a%20%20b@host/meta")
    error = no_connection(psycopg.OperationalError('no login with\n"a  b"\n'), place)
    assert error.detail == 'no login with "***".'


def test_what_holds_no_secret_is_shown() -> None:
    with pytest.raises(AcidSqlError, match=r"^mysql://host/meta is not a metastore URL"):
        acidsql.connect("/nowhere/w", metastore="mysql://host/meta")
    with pytest.raises(AcidSqlError, match='"a-b" is not usable as the schema'):
        acidsql.connect("/nowhere/w", metastore="postgresql://host/meta?schema=a-b")
