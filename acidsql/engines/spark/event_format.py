"""Event files read in a format of our own, whose columns Spark decodes faster than its own.

The format (EventFormat.java) hands the fields of ``row`` to Spark as columns, and short decimals as
longs. Spark's own compiler makes the class in the driver, and Spark sends it to the executors in a
jar.
"""

from __future__ import annotations

import logging
import threading
import uuid
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.event_files import TYPES
from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_classes, java_errors
from acidsql.engines.spark.session import runs_in_process
from acidsql.model.names import quote_identifier as quote
from acidsql.orc.schema import CURRENT_TRANSACTION, ROW_ID_COLUMNS

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

FLAT_BYTES_MIN = 32 << 20
"""So many bytes a scan has at least that reads event files in the format.

What a smaller scan would save is less than what it takes to compile the class, once.
"""

_SOURCES = ("BatchTest.java", "LongDecimals.java", "Events.java", "EventFormat.java")
"""Sources of classes. Each may use those before it."""

_CLASS = "acidsql.EventFormat"
_COMPILER = "org.codehaus.janino.SimpleCompiler"
_LOADER = "MutableURLClassLoader"

_OTHERWISE = "Spark reads the columns of event files as fields of a struct"

_guard = threading.Lock()
_known: WeakKeyDictionary[SparkContext, Any] = WeakKeyDictionary()
"""The format of a context, whose processes have the class or get it with their next task."""


def event_format(spark: SparkSession, files: Sequence[SelectedFile]) -> Any:
    """Spark's object of the format.

    None if Spark had better read the files otherwise: there is too little to read, a file may hold
    delete events, or there is no gateway to the JVM.
    """
    if sum(file.size for file in files) < FLAT_BYTES_MIN:
        return None
    if not all(file.only_inserts and file.length is None for file in files):
        return None
    if java_classes(spark) is None:
        return None
    context = spark.sparkContext
    with _guard:
        if context not in _known:
            _known[context] = by_gateway(spark, lambda java: _made(java, context), _OTHERWISE)
        return _known[context]


def flat_schema(fields: Iterable[str], *, row_ids: bool, write_ids: bool) -> str:
    """The schema of a flat scan, without the event columns that it does not need.

    ``fields`` are the names and types of the columns as the scan calls them: see `flat_name`.
    """
    needed = {*(ROW_ID_COLUMNS if row_ids else ()), *((CURRENT_TRANSACTION,) if write_ids else ())}
    columns = [f"{quote(name)} {kind}" for name, kind in TYPES.items() if name in needed]
    return ", ".join([*columns, *fields])


def flat_name(name: str) -> str:
    """What a flat scan calls a field of ``row``, to keep it apart from the event columns."""
    return f"row.{name}"


def _made(java: JavaClasses, context: SparkContext) -> Any:
    """The format, whose class the driver and all executors get; None if they cannot."""
    try:
        loader = _submit_loader(java)
        if loader is None:
            _log.info("no class can be added to this Spark: %s", _OTHERWISE)
            return None
        jar = Path(context._temp_dir) / f"acidsql-{uuid.uuid4().hex}.jar"
        _write_jar(jar, _compiled(java, loader))
        loader.addURL(java("java.net.URI").create(jar.as_uri()).toURL())
        found = loader.loadClass(_CLASS).newInstance()
        if not runs_in_process(context.master):
            context._jsc.addJar(str(jar))
    except java_errors(OSError):
        _log.warning("%s is not compiled: %s", _CLASS, _OTHERWISE, exc_info=True)
        return None
    return found


def _submit_loader(java: JavaClasses) -> Any:
    """The loader of classes that spark-submit makes, the parent of all others; None without one.

    What is added to the loader of a thread, which may be that of one session, others do not find.
    """
    found, loader = None, java("java.lang.Thread").currentThread().getContextClassLoader()
    while loader is not None:
        if loader.getClass().getName().endswith(_LOADER):
            found = loader
        loader = loader.getParent()
    return found


def _compiled(java: JavaClasses, loader: Any) -> dict[str, bytes]:
    """The code of the sources' classes and of those within them, by name."""
    found: dict[str, bytes] = {}
    for name in _SOURCES:
        compiler = java(_COMPILER)()
        compiler.setParentClassLoader(loader)
        compiler.cook(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
        found.update(compiler.getBytecodes())
        loader = compiler.getClassLoader()
    return found


def _write_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as jar:
        for name, code in classes.items():
            jar.writestr(f"{name.replace('.', '/')}.class", code)
