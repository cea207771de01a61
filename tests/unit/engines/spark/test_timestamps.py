"""Whose time zones decide on the reader of timestamps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from acidsql.engines.spark import timestamps
from acidsql.engines.spark.timestamps import shifts_times
from acidsql.model.types import parse_type

TIMES = [parse_type("array<timestamp>")]
_applications = iter(range(1000))


class Spark:
    """A SparkSession without a gateway, whose executors are in these zones."""

    def __init__(self, *zones: str) -> None:
        self.zones: list[str] | None = list(zones)
        self.jobs: list[int] = []
        self.settings = {"spark.app.id": f"app-{next(_applications)}"}
        self.conf = SimpleNamespace(get=self.settings.get)

    def range(self, start: int, end: int, step: int, tasks: int) -> Any:
        assert (start, end, step) == (0, tasks, 1)
        return SimpleNamespace(
            selectExpr=lambda _: SimpleNamespace(collect=lambda: self._run(tasks))
        )

    def _run(self, tasks: int) -> list[tuple[str]]:
        self.jobs.append(tasks)
        if self.zones is None:
            raise AnalysisException("java_method is not to be had here")
        return [(self.zones[task % len(self.zones)],) for task in range(tasks)]


class Jvm:
    """Classes by their full names, as py4j has them."""

    def __init__(self, classes: dict[str, Any]) -> None:
        vars(self).update(classes)


class Gateway(Spark):
    """The same with a driver that can be asked through a gateway."""

    def __init__(self, driver: str, *zones: str, master: str = "yarn") -> None:
        super().__init__(*zones)
        zone = SimpleNamespace(getID=lambda: driver)
        default = SimpleNamespace(getDefault=lambda: zone)
        self._jvm = Jvm({"java.util.TimeZone": default})
        context = SimpleNamespace(
            getExecutorMemoryStatus=lambda: SimpleNamespace(keySet=self._keys)
        )
        self.sparkContext = SimpleNamespace(master=master, _jsc=SimpleNamespace(sc=lambda: context))

    def _keys(self) -> Any:
        executors = [f"host{number}:7337" for number in range(len(self.zones or ()))]
        return SimpleNamespace(mkString=lambda comma: comma.join(["driver:1", *executors]))


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timestamps, "_asked", {})


@pytest.mark.parametrize(
    ("spark", "bends", "jobs"),
    [
        (Gateway("UTC", master="local"), False, 0),
        (Gateway("UTC", master="local[*]"), False, 0),
        (Gateway("Europe/Berlin", master="local[2, 3]"), True, 0),
        (Gateway("UTC", "UTC", "Etc/UTC"), False, 1),
        (Gateway("UTC", "UTC", "Europe/Berlin"), True, 1),
        (Gateway("UTC", "Europe/Berlin", master="local-cluster[1,1,512]"), True, 1),
        (Gateway("Europe/Berlin", "UTC"), True, 0),
        (Spark("UTC"), False, 1),
        (Spark("UTC", "UTC", "America/New_York"), True, 1),
    ],
)
def test_every_zone_counts_and_is_asked_for_once(spark: Any, bends: bool, jobs: int) -> None:
    assert [shifts_times(spark, TIMES) for _ in range(3)] == [bends] * 3
    assert len(spark.jobs) == jobs


def test_columns_without_times_ask_nobody() -> None:
    spark: Any = Spark("Europe/Berlin")
    assert not shifts_times(spark, [parse_type("array<date>")])
    assert not spark.jobs


def test_new_executors_are_asked_and_those_that_went_are_not_missed() -> None:
    spark: Any = Gateway("UTC", "UTC", "UTC")
    assert not shifts_times(spark, TIMES)
    spark.zones.append("Europe/Berlin")
    assert shifts_times(spark, TIMES)
    del spark.zones[0]
    assert shifts_times(spark, TIMES)
    assert spark.jobs == [6, 8]


def test_each_application_is_asked() -> None:
    for zone in ("UTC", "Europe/Berlin"):
        spark: Any = Spark(zone)
        assert shifts_times(spark, TIMES) == (zone != "UTC")


def test_executors_that_do_not_tell_are_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    spark: Any = Spark()
    spark.zones = None
    assert shifts_times(spark, TIMES)
    assert "do not tell their time zones" in caplog.text
    spark.zones = ["UTC"]
    assert not shifts_times(spark, TIMES)
