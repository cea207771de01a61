"""Where the draft of a file of timestamps is while pyarrow writes it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from acidsql.orc.timestamps import MendedSink

MICROS = pa.timestamp("us")


def opened_beside(path: Path) -> int:
    """How many files of its directory the process has open, but for the file itself."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            continue  # the directory that was listed
    return sum(link.startswith(f"{path.parent}/") and link != str(path) for link in links)


@pytest.mark.parametrize(("stripe_bytes", "files"), [(1 << 16, 1), (1 << 26, 0)])
def test_a_draft_takes_no_more_memory_than_a_stripe(
    tmp_path: Path, stripe_bytes: int, files: int
) -> None:
    """A task that writes into many buckets has as many drafts, and says how large stripes are."""
    path = tmp_path / "f"
    moments = np.random.default_rng(1).integers(0, 1 << 50, 100_000)
    sink = MendedSink(
        str(path), pa.schema([("v", MICROS)]), stripe_size=stripe_bytes, compression="uncompressed"
    )
    for _ in range(3):
        sink.write([pa.array(moments).cast(MICROS)])
    assert opened_beside(path) == files
    sink.finish(lambda tail: {})
    assert opened_beside(path) == 0
