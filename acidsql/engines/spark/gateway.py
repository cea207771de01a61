"""Spark's own classes, reached through PySpark's gateway to the JVM."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)
T = TypeVar("T")


def by_gateway(spark: SparkSession, make: Callable[[Any], T], otherwise: str) -> T | None:
    """What is made with the classes of the JVM; None if there is no gateway.

    None too, and ``otherwise`` is logged, if this Spark's classes are not those that are known.
    """
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return None
    from py4j.protocol import Py4JError  # noqa: PLC0415

    try:
        return make(jvm)
    except (Py4JError, TypeError, AttributeError):
        _log.warning("this Spark's classes are unknown: %s", otherwise, exc_info=True)
        return None
