"""Stream sensor readings into a partitioned table, and look at it while the stream goes on.

Run it with `python examples/streaming_ingest.py DIRECTORY`. It needs no Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TextIO

import acidsql
from acidsql import SerializationError
from acidsql.streaming import StreamingConnection, StrictJsonWriter

TABLE = """CREATE TABLE IF NOT EXISTS readings (sensor int, celsius decimal(5,2))
    PARTITIONED BY (day date)"""


def messages() -> Iterator[str]:
    """What a queue might hand over: some readings at a time, one of them broken."""
    for hour in range(6):
        day = date(2026, 1, 1 + hour // 3)
        lines = [
            f'{{"sensor": {sensor}, "celsius": {20 + hour}.{sensor}, "day": "{day}"}}'
            for sensor in range(4)
        ]
        if hour == 2:
            lines[1] = '{"sensor": 1, "celsius": "no contact", "day": "2026-01-01"}'
        yield "\n".join(lines)


def run(warehouse: Path, out: TextIO) -> None:
    """Stream all messages, a transaction for each, four of them in a batch."""
    with acidsql.connect(warehouse) as session:
        session.execute(TABLE)
        connection = (
            StreamingConnection.builder()
            .table("readings")
            .record_writer(StrictJsonWriter())
            .transaction_batch_size(4)
            .agent_info("sensors")
            .connect(session)
        )
        with connection:
            for message in messages():
                connection.begin_transaction()
                try:
                    connection.write(message)
                except SerializationError as error:
                    for number, column, reason in error.rejected:
                        print(f"left out record {number}: {column}: {reason}", file=out)
                connection.commit_transaction()
            stats = connection.connection_stats
        print(f"{stats.records_written} records written", file=out)
        print(f"{stats.committed_transactions} transactions committed", file=out)
        print(f"{stats.batches_opened} batches", file=out)
        for (partition,) in session.execute("SHOW PARTITIONS readings").fetchall():
            print(partition, file=out)
        problems = session.execute("CHECK TABLE readings").fetchall()
        print(f"{len(problems)} problems", file=out)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.stdout)
