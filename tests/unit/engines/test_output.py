"""What a write removes of what it left."""

from __future__ import annotations

from pathlib import Path

from acidsql.engines.publish import remove_attempts
from tests.unit.engines.tables import table, target


def test_attempts_are_removed_with_their_directories(tmp_path: Path) -> None:
    own, other = target(table(tmp_path, "a int"), 9), target(table(tmp_path, "a int"), 9)
    delta = tmp_path / "delta_0000009_0000009_0000"
    for path in (
        delta / own.attempt_name("directory") / "_temporary" / "0" / "part-00000.orc",
        delta / own.attempt_name("file"),
        delta / other.attempt_name("directory") / "part-00000.orc",
        delta / "bucket_00000",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    remove_attempts(own)
    left = [delta, delta / "bucket_00000", delta / other.attempt_name("directory")]
    assert {p for p in tmp_path.rglob("*") if p.name != "part-00000.orc"} == set(left)
    assert (delta / other.attempt_name("directory") / "part-00000.orc").exists()
