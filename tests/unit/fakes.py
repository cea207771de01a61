"""A session without Spark: it answers each statement with a result prepared for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from acidsql.errors import ConfigError, TableNotFoundError
from acidsql.execution.result import InsertedLeg
from acidsql.service.timetable import ServiceTimes


@dataclass
class FakeResult:
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    legs: list[InsertedLeg] = field(default_factory=list)
    txn_id: int | None = None
    write_ids: dict[str, int] = field(default_factory=dict)
    message: str | None = None
    columns_added: list[str] = field(default_factory=list)
    kind: str = "query"
    statement: str = ""
    line: int = 1
    column: int = 1
    elapsed_s: float = 0.0

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Each row once, as a cursor does."""
        while self.rows:
            yield self.rows.pop(0)

    def __enter__(self) -> FakeResult:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass
class FakeSession:
    """``answers`` maps a statement to its result or to what is done to get it."""

    answers: Mapping[str, FakeResult | Callable[[], FakeResult]] = field(default_factory=dict)
    executed: list[tuple[str, Any, int, int]] = field(default_factory=list)
    scripted: list[bool] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    needed: int = 0
    compactions: int = 0
    cleanable: int = 0
    rounds: int = 0
    closed: bool = False
    in_transaction: bool = False
    watcher: Any = None
    failures: dict[str, int] = field(default_factory=dict)
    new_warehouse: str | None = None
    service_times: ServiceTimes = field(default_factory=ServiceTimes)
    services: list[tuple[int, str | None, ServiceTimes]] = field(default_factory=list)
    pool: str | None = None

    def execute(
        self,
        sql: str,
        args: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        line: int = 1,
        column: int = 1,
        variables: bool = False,
    ) -> FakeResult:
        self.scripted.append(variables)
        self.executed.append((sql, args, line, column))
        if sql in ("BEGIN", "COMMIT"):
            self.in_transaction = sql == "BEGIN"
            return FakeResult()
        answer = self.answers.get(sql)
        if answer is None:
            raise TableNotFoundError(
                f"no answer to {sql}", hint="Prepare one.", line=line, column=column
            )
        result = answer if isinstance(answer, FakeResult) else answer()
        return replace(result, rows=list(result.rows), statement=sql, line=line, column=column)

    def set(self, key: str, value: str) -> FakeResult:
        self.given[key] = value
        if key.startswith("hiveconf:acidsql."):
            raise ConfigError(f"{key} cannot be changed by SET")
        return FakeResult(message="OK" if key.startswith("hivevar:") else f"OK\n{key} is noted.")

    def watched_by(self, watcher: Any) -> AbstractContextManager[None]:
        self.watcher = watcher
        return nullcontext()

    def run_housekeeper(self) -> None:
        self.rounds += 1

    def run_initiator(self) -> int:
        asked, self.needed = self.needed, 0
        return asked

    def run_worker(self, pool: str | None = None) -> int:
        self.pool = pool
        done, self.compactions = self.compactions, 0
        return done

    def run_cleaner(self) -> int:
        done, self.cleanable = self.cleanable, 0
        return done

    def service(
        self, *, workers: int, pool: str | None, times: ServiceTimes
    ) -> AbstractContextManager[None]:
        """A service that is told to stop as soon as it runs."""
        self.services.append((workers, pool, times))

        @contextmanager
        def running() -> Iterator[None]:
            os.kill(os.getpid(), signal.SIGTERM)
            yield

        return running()

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
