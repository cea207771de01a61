"""Paths that may be removed: each lies below a directory that is known to belong to a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class OwnPath:
    """A relative ``path`` below ``location``, which the catalog gave out.

    >>> str(OwnPath("/w/t", "delta_0000001_0000001"))
    '/w/t/delta_0000001_0000001'
    """

    location: str
    path: str

    @classmethod
    def of(cls, location: str, full: str) -> OwnPath:
        """The path ``full`` as one below a location. ValueError if it does not lie there.

        >>> OwnPath.of("/w/t", "/w/t/p=1/bucket_00000").path
        'p=1/bucket_00000'
        """
        outer = f"{location}/"
        if not full.startswith(outer):
            raise ValueError(f"{full} does not lie below {location}")
        return cls(location, full[len(outer) :])

    def __str__(self) -> str:
        return f"{self.location}/{self.path}"


def lies_in(path: str, directory: str) -> bool:
    """Whether a path is a directory or leads into it, by their texts; links in them are resolved.

    >>> lies_in("/w/t/p=1", "/w/t"), lies_in("/w/t", "/w/t"), lies_in("/w/t2", "/w/t")
    (True, True, False)
    """
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")
