"""A setting is held while any block needs it."""

from __future__ import annotations

import pytest

from acidsql.engines.spark.settings import configured


class Conf:
    """The settings of a session, as PySpark's RuntimeConfig shows them."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, key: str, default: str | None) -> str | None:
        return self.values.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

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
