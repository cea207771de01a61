"""Passwords are in no error, log, repr or message, whatever the URL looks like."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings

import acidsql
from acidsql.cli.main import main
from acidsql.errors import AcidSqlError
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
    return [secret, quote(secret, safe=""), *re.findall(r"q\w{7,}z", secret)]


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


def test_what_holds_no_secret_is_shown() -> None:
    with pytest.raises(AcidSqlError, match=r"^mysql://host/meta is not a metastore URL"):
        acidsql.connect("/nowhere/w", metastore="mysql://host/meta")
    with pytest.raises(AcidSqlError, match='"a-b" is not usable as the schema'):
        acidsql.connect("/nowhere/w", metastore="postgresql://host/meta?schema=a-b")
