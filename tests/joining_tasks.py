"""Spark in one process that is taken for a cluster."""

from __future__ import annotations

import pytest


def let_tasks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks make files of parts, as on a cluster, and take no parts for small."""
    monkeypatch.setattr("acidsql.engines.spark.parts.STRIPE_BYTES", 1)
    monkeypatch.setattr("acidsql.engines.spark.parts.runs_in_process", lambda _: False)
