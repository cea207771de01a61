"""The structs and methods of ``hive_metastore.thrift``, as Python classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import thriftpy2

hms: Any = thriftpy2.load(
    str(Path(__file__).parent / "hive_metastore.thrift"),
    # The parser wants a name that ends so, and registers the module under it, for pickle.
    module_name="acidsql_hive_metastore_thrift",
)
"""``hms.Table`` and so on. Fields that are not set are None, and are not sent."""
