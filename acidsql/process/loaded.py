"""What a package has that others may have imported, and acidsql need not import."""

from __future__ import annotations

import sys
from typing import Any


def loaded(package: str, name: str) -> Any:
    """The attribute of a package; None where the package, or just this attribute, is not loaded.

    Another thread may be in the middle of the import: pyarrow imports pandas with its first array.

    >>> loaded("a package that nobody has", "DataFrame") is None
    True
    """
    return getattr(sys.modules.get(package), name, None)


def is_missing(value: object) -> bool:
    """Whether a value is pandas' NaT or NA."""
    return value is not None and any(value is loaded("pandas", name) for name in ("NaT", "NA"))


def is_loaded_type(value: object, package: str, name: str) -> bool:
    """Whether a value is of a class of a package, which is not imported for that."""
    kind = loaded(package, name)
    return kind is not None and isinstance(value, kind)
