"""A real Hive in a process of its own, fed with statements."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.jvm import SHORT_LIVED

RUNNER = Path(__file__).parent / "runner"
SCHEMAS = {3: "hive-schema-3.1.0.derby.sql", 4: "hive-schema-4.0.0.derby.sql"}
ENGINES = {3: "mr", 4: "tez"}
LOCAL_FILES = {
    "fs.file.impl": "LocalFiles",
    "fs.AbstractFileSystem.file.impl": "LocalFiles$Context",
}
"""runner/LocalFiles.java, for every part of Hive."""
TXN_STORES = {3: "CompactionTxnHandler", 4: "DerbyTxnHandler"}
_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.ref", "java.lang.reflect", "java.io", "java.math",
    "java.net", "java.nio", "java.text", "java.time", "java.util", "java.util.concurrent",
    "java.util.concurrent.atomic", "java.util.regex", "sun.nio.ch", "sun.nio.cs",
    "sun.util.calendar",
)  # fmt: skip
"""Packages that Hive, made for Java 8, looks into by reflection."""


class HiveError(Exception):
    """What Hive answered instead of rows: the messages of the exception and its causes."""


class Hive:
    """Runs statements one after the other; a context manager. ``version`` is 3 or 4.

    ``settings`` are those of the metastore that are not the tests' usual ones, and go before them.
    ``jvm`` are options of its Java, and ``zone`` is its time zone.
    """

    def __init__(
        self,
        version: int,
        build: Path,
        home: Path,
        metastore_port: int | None = None,
        settings: Mapping[str, str] | None = None,
        jvm: Sequence[str] = SHORT_LIVED,
        zone: str = "UTC",
    ) -> None:
        self.version = version
        self.metastore_port = metastore_port
        self.warehouse = home / "warehouse"
        self._log = home / "hive.log"
        (home / "conf").mkdir(parents=True)
        (home / "conf" / "core-site.xml").write_text(_site(LOCAL_FILES | dict(settings or {})))
        with (home / "stderr.log").open("wb") as errors:
            self._process = subprocess.Popen(
                _command(version, build / str(version), home, metastore_port, jvm, zone),
                # Tez leaves files in the current directory.
                cwd=home / "conf",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
            )
        self._answer("READY")

    @property
    def metastore_url(self) -> str:
        """Where acidsql finds its metastore."""
        return f"thrift://127.0.0.1:{self.metastore_port}"

    def run(self, statement: str) -> list[Any]:
        """The rows as dicts by column, of a verb its answers. HiveError if it fails."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(statement.split("\n")) + "\n")
        self._process.stdin.flush()
        return self._answer("DONE")

    def work(self) -> None:
        """Carry out the compactions that wait, of this test and whatever others have left.

        A worker takes one of them. What a pool of its own was asked for stays.
        """
        while waiting := self._waiting():
            self.run("!worker")
            assert self._waiting() != waiting, waiting

    def _waiting(self) -> list[Any]:
        entries = self.run("SHOW COMPACTIONS")
        return [e for e in entries if e["state"] == "initiated" and not _pool(e)]

    def _answer(self, end: str) -> list[Any]:
        assert self._process.stdout is not None
        rows = []
        for line in self._process.stdout:
            if line.startswith("ERROR "):
                raise HiveError(json.loads(line.removeprefix("ERROR ")))
            if line.rstrip() == end:
                return rows
            rows.append(json.loads(line, parse_float=str))
        raise AssertionError(f"Hive {self.version} is gone; see {self._log.parent}")

    def __enter__(self) -> Hive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def _pool(entry: Mapping[str, str]) -> str:
    """The pool that a compaction was asked for, "" for the one that all have; Hive 4 knows them."""
    name = (entry.get("poolname") or "").strip("- ")
    return "" if name == "default" else name


def _site(settings: Mapping[str, str]) -> str:
    properties = (
        f"<property><name>{name}</name><value>{value}</value><final>true</final></property>"
        for name, value in settings.items()
    )
    return f"<configuration>{''.join(properties)}</configuration>"


def _command(
    version: int,
    build: Path,
    home: Path,
    metastore_port: int | None,
    jvm: Sequence[str],
    zone: str,
) -> list[str]:
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
    opened.append("--add-opens=java.sql/java.sql=ALL-UNNAMED")
    opened.append("--add-opens=java.management/java.lang.management=ALL-UNNAMED")
    conf = home / "conf"
    properties = {
        "user.timezone": zone,
        "file.encoding": "UTF-8",
        "java.system.class.loader": "Boot",
        "log4j.configurationFile": RUNNER / "log4j2.properties",
        "log4j2.configurationFile": RUNNER / "log4j2.properties",
        "runner.log": home / "hive.log",
        "runner.conf": conf,
        "runner.engine": ENGINES[version],
        "runner.path": f"{conf}:{build / 'classes'}:{build / 'lib'}",
        "runner.schema": next((build / "sql").rglob(SCHEMAS[version])),
        "runner.template": build / "metastore_db",
        "runner.txn.store": f"org.apache.hadoop.hive.metastore.txn.{TXN_STORES[version]}",
    }
    return [
        "java", *opened, "-Xmx1g", *jvm,
        *(f"-D{key}={value}" for key, value in properties.items()),
        "-cp", str(build / "boot"), "Runner", str(home),
        *([] if metastore_port is None else [str(metastore_port)]),
    ]  # fmt: skip
