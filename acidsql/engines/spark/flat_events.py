"""Event files read as files of plain columns, which Spark decodes faster than fields of a struct.

A file system of ours (FlatEvents.java) shows ORC's reader another footer, in which the fields of
``row`` are columns of their own. Nothing else changes: the stripes are the same bytes. Spark's own
compiler makes the class in the driver, and Spark sends it to the executors in a jar.
"""

from __future__ import annotations

import logging
import re
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
from acidsql.engines.spark.paths import spark_path
from acidsql.engines.spark.session import runs_in_process
from acidsql.model.names import quote_identifier as quote
from acidsql.orc.schema import CURRENT_TRANSACTION, ROW_ID_COLUMNS

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

FLAT_BYTES_MIN = 32 << 20
"""So many bytes a scan has at least that reads event files flat.

What a smaller scan would save is less than what it takes to compile the class, once.
"""

_SOURCE = "FlatEvents.java"
_CLASS = "acidsql.FlatEvents"
_COMPILER = "org.codehaus.janino.SimpleCompiler"
_LOADER = "MutableURLClassLoader"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_BEFORE = "acidsql."
"""What FlatEvents finds in front of the names of settings: their values for other readers."""

_OTHERWISE = "Spark reads the columns of event files as fields of a struct"

_guard = threading.Lock()
_known: WeakKeyDictionary[SparkContext, bool] = WeakKeyDictionary()
"""Whether the processes of a context have the class, or get it with their next task."""


def flat_options(spark: SparkSession, files: Sequence[SelectedFile]) -> Mapping[str, str] | None:
    """The settings of Hadoop under which Spark's reader reads event files flat.

    None if it had better not: there is too little to read, a file may hold delete events, or there
    is no gateway to the JVM.
    """
    if sum(file.size for file in files) < FLAT_BYTES_MIN:
        return None
    if not all(file.only_inserts and file.length is None for file in files):
        return None
    if not _is_there(spark):
        return None
    return by_gateway(spark, lambda _: _settings(spark, {f.path for f in files}), _OTHERWISE)


def flat_schema(fields: Iterable[str], *, row_ids: bool, write_ids: bool) -> str:
    """The schema of a flat scan, without the event columns that it does not need.

    ``fields`` are the names and types of the columns as the scan calls them: see `flat_name`.
    """
    needed = {*(ROW_ID_COLUMNS if row_ids else ()), *((CURRENT_TRANSACTION,) if write_ids else ())}
    columns = [f"{quote(name)} {kind}" for name, kind in TYPES.items() if name in needed]
    return ", ".join([*columns, *fields])


def flat_name(name: str) -> str:
    """What a flat scan calls a field of ``row``.

    The dot keeps it apart from the event columns. Nor does Spark push a condition on such a column
    to the reader, which would overwrite our search argument (DataSourceStrategy).
    """
    return f"row.{name}"


def _settings(spark: SparkSession, paths: Iterable[str]) -> dict[str, str]:
    """FlatEvents for each scheme of the paths, and the settings' values for other readers."""
    state: Any = spark._jsparkSession.sessionState()
    conf = state.newHadoopConf()
    schemes = {match[0] for path in paths if (match := _SCHEME.match(spark_path(path)))}
    settings: dict[str, str] = {}
    for scheme in schemes:
        impl = f"fs.{scheme}.impl"
        for key, value in ((impl, _CLASS), (f"{impl}.disable.cache", "true")):
            settings[key] = value
            before = conf.get(key)
            if before is not None:
                settings[f"{_BEFORE}{key}"] = before
    return settings


def _is_there(spark: SparkSession) -> bool:
    """Whether tasks find the class, which is made for the first scan of a context."""
    if java_classes(spark) is None:
        return False
    context = spark.sparkContext
    with _guard:
        if context not in _known:
            _known[context] = bool(by_gateway(spark, lambda java: _add(java, context), _OTHERWISE))
        return _known[context]


def _add(java: JavaClasses, context: SparkContext) -> bool:
    """Give the class to the driver, and to executors in other processes."""
    try:
        loader = _submit_loader(java)
        if loader is None:
            _log.info("no class can be added to this Spark: %s", _OTHERWISE)
            return False
        jar = Path(context._temp_dir) / f"acidsql-{uuid.uuid4().hex}.jar"
        source = resources.files(__package__).joinpath(_SOURCE).read_text(encoding="utf-8")
        _write_jar(jar, _compiled(java, loader, source))
        loader.addURL(java("java.net.URI").create(jar.as_uri()).toURL())
        loader.loadClass(_CLASS)
        if not runs_in_process(context.master):
            context._jsc.addJar(str(jar))
    except java_errors(OSError):
        _log.warning("%s is not compiled: %s", _SOURCE, _OTHERWISE, exc_info=True)
        return False
    return True


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


def _compiled(java: JavaClasses, loader: Any, source: str) -> dict[str, bytes]:
    """The code of the source's class and of those within it, by name."""
    compiler = java(_COMPILER)()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    return dict(compiler.getBytecodes())


def _write_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as jar:
        for name, code in classes.items():
            jar.writestr(f"{name.replace('.', '/')}.class", code)
