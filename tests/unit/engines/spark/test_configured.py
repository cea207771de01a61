"""A setting is held while any block needs it."""

from __future__ import annotations

import pytest

from acidsql.engines.spark.settings import configured


class Conf:
    """The settings of a session, as PySpark's RuntimeConfig shows them."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.sets = 0

    def get(self, key: str, *default: str | None) -> str | None:
        if not default:
            return self.values.get(key) or {"known": "usual"}[key]
        return self.values.get(key, *default)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value
        self.sets += 1

    def unset(self, key: str) -> None:
        del self.values[key]


class Spark:
    """A session that has settings."""

    def __init__(self, **values: str) -> None:
        self.conf = Conf(**values)


@pytest.mark.parametrize("before", [{}, {"key": "false"}, {"key": "true"}])
def test_a_setting_is_set_back(before: dict[str, str]):
    """Also when the block fails."""
    spark = Spark(**before)

    with pytest.raises(ValueError, match="stop"), configured(spark, "key", "true"):
        raise ValueError("stop")

    assert spark.conf.values == before


@pytest.mark.parametrize(
    ("key", "value", "sets"),
    [("known", "usual", 0), ("known", "other", 1), ("unknown", "usual", 1)],
)
def test_what_spark_does_by_itself_is_not_set(key: str, value: str, sets: int):
    spark = Spark()
    with configured(spark, key, value):
        assert spark.conf.sets == sets
    assert spark.conf.values == {}


def test_overlapping_blocks():
    """The first to leave must not take the setting from the other."""
    spark = Spark(key="false")
    first, second = configured(spark, "key", "true"), configured(spark, "key", "true")
    first.__enter__()
    second.__enter__()

    first.__exit__(None, None, None)
    assert spark.conf.values == {"key": "true"}
    second.__exit__(None, None, None)
    assert spark.conf.values == {"key": "false"}
