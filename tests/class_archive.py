"""Write an archive of Spark's classes, from which the JVMs of the tests start in half of the time.

    python -m tests.class_archive build/spark-classes.jsa

The archive has the classes that a short session of this process has loaded, verified and laid out
(Java's application class data sharing). It fits one Java and one PySpark in one place: another JVM
goes without it. A Java that writes no archive leaves an empty file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.jvm import OPTIONS, SPARK_CONF

STATEMENTS = """
CREATE TABLE t (k int, v string, d decimal(9, 2), at timestamp, m map<string, int>, l array<int>)
  TBLPROPERTIES ('transactional' = 'true');
CREATE TABLE p (k int, s struct<a: int, b: string>) PARTITIONED BY (d date)
  CLUSTERED BY (k) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
INSERT INTO t VALUES (1, 'a', 1.5, current_timestamp(), map('x', 1), array(1, 2));
INSERT INTO t SELECT id, 'b', id, NULL, NULL, NULL FROM range(2, 9);
INSERT INTO p PARTITION (d) SELECT k, named_struct('a', k, 'b', v), date '2026-01-01' FROM t;
UPDATE t SET v = upper(v) WHERE k IN (SELECT max(k) FROM t);
DELETE FROM t WHERE v LIKE '%c%' OR k = (SELECT count(*) FROM p);
MERGE INTO t USING (SELECT k, s.b AS b FROM p WHERE k < 5) s ON t.k = s.k
  WHEN MATCHED AND s.b = 'a' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.b
  WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.b);
MERGE INTO p USING (SELECT id AS k FROM range(100)) s ON p.k = s.k
  WHEN MATCHED THEN UPDATE SET s = named_struct('a', 1, 'b', 'c')
  WHEN NOT MATCHED THEN INSERT VALUES (s.k, NULL, date '2026-01-02');
INSERT OVERWRITE p SELECT * FROM p WHERE k < 50;
SELECT d, count(*), sum(k), min(s.a) FROM p GROUP BY d ORDER BY d;
SELECT x.k, rank() OVER (PARTITION BY x.v ORDER BY x.k) FROM t x LEFT JOIN p ON x.k = p.k;
ALTER TABLE t COMPACT 'minor' AND WAIT;
ALTER TABLE t COMPACT 'major' AND WAIT;
SELECT * FROM t;
"""


def main(archive: str) -> int:
    """Run the statements, and have the JVM write the archive when it ends. Its exit status."""
    new = Path(f"{archive}.new")
    os.environ["SPARK_SUBMIT_OPTS"] = f'{OPTIONS} "-XX:ArchiveClassesAtExit={new}" -Xlog:disable'
    import acidsql

    with tempfile.TemporaryDirectory() as directory:
        with acidsql.connect(f"{directory}/warehouse", config=SPARK_CONF) as session:
            for _ in session.execute_script(STATEMENTS):
                pass
        from pyspark import SparkContext

        gateway = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        status = gateway.proc.wait()
    if not new.exists():
        new.touch()
    new.rename(archive)
    return status


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
