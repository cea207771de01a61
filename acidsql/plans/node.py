"""The base of every plan node."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Node(BaseModel):
    """Frozen data: printed, stored and compared, never executed by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=False)
