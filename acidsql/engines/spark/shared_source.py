"""Rows that several parts of a plan read: those that are to be the same for all come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from acidsql.engines.spark.evaluation import evaluated
from acidsql.engines.spark.job import Job
from acidsql.plans.shared_source import SharedSource


@contextmanager
def shared_sources(job: Job, sources: Sequence[SharedSource]) -> Iterator[None]:
    """A block in which the sources are inputs of the job."""
    with ExitStack() as kept:
        for source in sources:
            frame = job.sql(source.rows)
            rows = kept.enter_context(evaluated(frame)) if source.once else frame
            job.inputs[source.name] = rows
        yield
