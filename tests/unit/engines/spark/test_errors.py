from acidsql.engines.spark.errors import clear_error
from acidsql.errors import ExecutionError

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1920, in read_udfs
    import pyarrow as pa
ModuleNotFoundError: No module named 'pyarrow'
"""


def test_a_worker_without_the_libraries_is_named() -> None:
    error = clear_error(RuntimeError(WORKER))
    assert isinstance(error, ExecutionError)
    assert error.detail == "ModuleNotFoundError: No module named 'pyarrow'"
    assert "PYSPARK_PYTHON" in (error.hint or "")


def test_what_else_a_worker_dies_of_is_the_end_of_its_traceback() -> None:
    error = clear_error(RuntimeError(WORKER.replace("ModuleNotFoundError: No m", "ValueError: m")))
    assert (error.detail, error.hint) == ("ValueError: module named 'pyarrow'", None)
