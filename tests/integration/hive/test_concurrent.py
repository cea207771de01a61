"""Two at once on one metastore: acidsql and a Hive do to each other what two Hives do.

One statement has its locks and is stopped there; another one meets it. What two Hives do to each
other is asked of two Hives, in the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import acidsql
from acidsql.errors import LockTimeoutError
from acidsql.session import Session
from tests.integration.hive.live import Live
from tests.integration.hive.process import HiveError

pytestmark = pytest.mark.hive

HOLDERS = {
    "select": "SELECT * FROM {t}",
    "insert": "INSERT INTO {t} VALUES (3, 'held')",
    "update": "UPDATE {t} SET v = 'held' WHERE id = 1",
    "overwrite": "INSERT OVERWRITE TABLE {t} SELECT 9, 'held'",
}
OTHERS = {
    "select": "SELECT id FROM {t}",
    "insert": "INSERT INTO {t} VALUES (4, 'other')",
    "update": "UPDATE {t} SET v = concat(v, '+') WHERE id = 2",
    "delete": "DELETE FROM {t} WHERE id = 2",
    "merge": "MERGE INTO {t} USING (SELECT 2 AS id) s ON {t}.id = s.id"
    " WHEN MATCHED THEN UPDATE SET v = 'merged'"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'merged')",
    "overwrite": "INSERT OVERWRITE TABLE {t} SELECT 8, 'other'",
    "add columns": "ALTER TABLE {t} ADD COLUMNS (more int)",
    "drop": "DROP TABLE {t}",
}
