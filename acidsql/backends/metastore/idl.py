"""The structs and methods of ``hive_metastore.thrift``, as Python classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import thriftpy2

hms: Any = thriftpy2.load(
    str(Path(__file__).parent / "hive_metastore.thrift"),
    # The parser needs a name that ends in "_thrift". It registers the module so, for pickle.
    module_name="acidsql_hive_metastore_thrift",
)
"""The module with ``hms.Table`` and so on. A field that is not set is None, and is not sent."""
