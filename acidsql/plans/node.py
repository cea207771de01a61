"""The base of every plan node."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Node(BaseModel):
    """Frozen data: it can be printed, stored and compared, but does not act."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=False)

    def mentions(self, word: str) -> bool:
        """Whether a word of lower case stands anywhere in the plan, in upper or lower case."""
        return word in repr(self).lower()
