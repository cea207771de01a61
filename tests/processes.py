"""Processes of tests that are killed, stopped and started again by the dozen.

Each is forked from one that has imported the package and nothing else: there are no threads and no
connections that it could take over, and it begins at once.
"""

from __future__ import annotations

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "pytest",
        # pyarrow imports it with the first list that it converts.
        "pandas",
        "acidsql.session.session",
        "acidsql.backends.sqlite.store",
        "acidsql.backends.postgres.store",
        "acidsql.cli.main",
        "acidsql.connect",
        "acidsql.service.service",
        "acidsql.streaming",
        "tests.python_engine",
    ]
)
