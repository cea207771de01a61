"""How fast statements are parsed, and how that compares with another checkout of acidsql.

    python benchmarks/parsing.py
    python benchmarks/parsing.py --against ../acidsql-before

The other checkout runs in a process of its own, with the same Python and packages. The two take
turns, and the shortest time of each statement counts, so that a busy machine hits both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROUNDS = 5
COLUMNS = [f"c{number}" for number in range(12)]
STATEMENTS = {
    "MERGE of 12 columns from a table": (
        "MERGE INTO db.orders AS t USING staged AS s ON t.id = s.id"
        " WHEN MATCHED AND s.op = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET "
        + ", ".join(f"{name} = s.{name}" for name in COLUMNS)
        + ", updated = current_timestamp() WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT (id, "
        + ", ".join(COLUMNS)
        + ") VALUES (s.id, "
        + ", ".join(f"s.{name}" for name in COLUMNS)
        + ")"
    ),
    "MERGE of 12 expressions": (
        "MERGE INTO db.orders AS t USING staged AS s ON t.id = s.id AND t.day = s.day"
        " WHEN MATCHED AND s.deleted = true THEN DELETE WHEN MATCHED AND s.at > t.at THEN"
        " UPDATE SET "
        + ", ".join(f"{name} = coalesce(s.{name}, t.{name})" for name in COLUMNS)
        + " WHEN NOT MATCHED THEN INSERT VALUES (s.id, "
        + ", ".join(f"upper(trim(s.{name}))" for name in COLUMNS)
        + ")"
    ),
    "MERGE from a query with a join": (
        "MERGE INTO db.orders AS t USING (SELECT o.id, o.qty, max(o.price) AS price FROM staged o"
        " JOIN items i ON o.item = i.id WHERE o.day >= DATE '2024-01-01' GROUP BY o.id, o.qty)"
        " AS s ON t.id = s.id AND t.region = 'eu' WHEN MATCHED AND s.qty = 0 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET qty = s.qty, price = coalesce(s.price, t.price),"
        " updated = current_timestamp() WHEN NOT MATCHED THEN INSERT (id, qty, price, region)"
        " VALUES (s.id, s.qty, s.price, 'eu')"
    ),
    "VALUES of 10,000 rows": "INSERT INTO t VALUES "
    + ", ".join(f"({n}, 'name {n}', {n}.5, DATE '2024-01-01')" for n in range(10_000)),
    "IN of 20,000 numbers": f"SELECT * FROM t WHERE id IN ({', '.join(map(str, range(20_000)))})",
}


def milliseconds() -> dict[str, float]:
    """The shortest of a few times to parse each statement. The first parse is not counted."""
    from acidsql.grammar.parse import parse

    found = {}
    for name, text in STATEMENTS.items():
        parse(text)
        found[name] = min(_times(lambda text=text: parse(text), 0.3)) * 1000
    return found


def _times(run: Callable[[], object], at_least_s: float) -> Iterator[float]:
    """Seconds of each run, for some seconds in all."""
    end = time.perf_counter() + at_least_s
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        yield time.perf_counter() - start


def of_checkout(path: Path) -> dict[str, float]:
    """`milliseconds` of the acidsql that lies in a directory."""
    code = (
        "import json, runpy, sys; sys.path.insert(0, sys.argv[1]);"
        " print(json.dumps(runpy.run_path(sys.argv[2])['milliseconds']()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), __file__],
        check=True,
        capture_output=True,
        text=True,
        cwd=path,
    )
    times: dict[str, float] = json.loads(done.stdout)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another checkout of acidsql")
    other = parser.parse_args().against
    checkouts = [Path(__file__).resolve().parents[1], *([other.resolve()] if other else [])]
    best: list[dict[str, float]] = [{} for _ in checkouts]
    for _ in range(ROUNDS):
        for checkout, times in zip(checkouts, best, strict=True):
            for name, ms in of_checkout(checkout).items():
                times[name] = min(ms, times.get(name, ms))
    for name, ms in best[0].items():
        ratio = f"  {ms / best[1][name]:5.2f} x of {best[1][name]:8.2f} ms" if other else ""
        print(f"{name:34} {ms:8.2f} ms{ratio}")


if __name__ == "__main__":
    main()
