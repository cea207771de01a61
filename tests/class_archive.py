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
CREATE TABLE t (k int, v string, d decimal(9, 2)) TBLPROPERTIES ('transactional' = 'true');
INSERT INTO t SELECT id, 'b', id FROM range(2, 9);
UPDATE t SET v = upper(v) WHERE k > 5;
SELECT v, count(*) FROM t GROUP BY v ORDER BY v;
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
