"""Calls of Java's methods as expressions of Spark, which compiles them into the code of a scan.

SQL can call Java only by reflection. Spark's own encoders call methods by the expressions that are
made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses, parser
from acidsql.engines.spark.parsed import replacements
from acidsql.orc.keys import Longs

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_OBJECTS = f"{_EXPRESSIONS}.objects"
_BROADCAST = "org.apache.spark.broadcast.Broadcast"
ARRAY_DATA = f"{_EXPRESSIONS}.UnsafeArrayData"
"""Spark's own array of bigint, see `JavaCalls.array_data`."""
LONGS = "[J"
"""Java's array of long, see `JavaCalls.longs`."""


@dataclass(frozen=True, slots=True)
class JavaCalls:
    """Makes calls, and the objects that they need, in the driver's JVM.

    Expressions are Spark's objects there. The caller sees to it that no argument is NULL and that
    no method returns null.
    """

    java: JavaClasses
    spark: SparkSession

    def longs(self, values: Longs) -> Any:
        """A Java array of long."""
        array = self.java("java.lang.reflect.Array")
        numbers = array.newInstance(self.java("java.lang.Long").TYPE, len(values))
        buffer = self.java("java.nio.ByteBuffer").wrap(bytearray(values.astype(">i8").tobytes()))
        buffer.asLongBuffer().get(numbers)
        return numbers

    def array_data(self, values: Longs) -> Any:
        """Spark's own array of bigint, which its serializers know. It does not check an index."""
        return self.java(ARRAY_DATA).fromPrimitiveArray(self.longs(values))

    def column(self, expression: Any) -> Column:
        """An expression as PySpark's column."""
        from pyspark.sql import Column  # noqa: PLC0415

        return Column(self.java("org.apache.spark.sql.classic.ExpressionUtils").column(expression))

    def expression(self, text: str, parts: Mapping[str, Any] | None = None) -> Any:
        """The expression of a text of SQL, which mentions ``parts`` by their `part_name`.

        PySpark's columns would call the JVM a dozen times for each operator.
        """
        made = parser(self.java, self.spark).parseExpression(text)
        if not parts:
            return made
        return made.transformUp(replacements(self.java, self.spark, parts))

    def broadcast(self, value: Any, owner: str) -> Any:
        """A Java object of the class ``owner``, of which each executor gets one copy for all."""
        held = self.spark.sparkContext._jsc.broadcast(value)
        literal = self.java(f"{_EXPRESSIONS}.Literal")(held, _object(self.java, _BROADCAST))
        return self._invoke(literal, "value", _object(self.java, owner), ())

    def method(self, target: Any, name: str, result: str, *arguments: Any) -> Any:
        """The call of an object's method. ``result`` is a name as in Spark's DataTypes."""
        return self._invoke(target, name, self._type(result), arguments)

    def static(self, owner: str, name: str, result: str, *arguments: Any) -> Any:
        """The call of a class's method. ``result`` is a name as in Spark's DataTypes."""
        return self.java(f"{_OBJECTS}.StaticInvoke")(
            _class(self.java, owner),
            self._type(result),
            name,
            _sequence(self.java, arguments),
            _no_items(self.java),
            True,  # a NULL among the arguments gives NULL
            False,  # the method returns no null
            True,  # the method is deterministic
            self.java("scala.Option").empty(),
        )

    def murmur3(self, value: Any, seed: int) -> Any:
        """Spark's hash of a value, which begins with the seed. In SQL every hash begins with 42."""
        return self.java(f"{_EXPRESSIONS}.Murmur3Hash")(_sequence(self.java, (value,)), seed)

    def _invoke(self, target: Any, name: str, kind: Any, arguments: tuple[Any, ...]) -> Any:
        given = _sequence(self.java, arguments) if arguments else _no_items(self.java)
        return self.java(f"{_OBJECTS}.Invoke")(
            target, name, kind, given, _no_items(self.java), True, False, True
        )  # the three flags are those of `static`

    def _type(self, name: str) -> Any:
        return getattr(self.java("org.apache.spark.sql.types.DataTypes"), f"{name}Type")


@lru_cache(16)
def _class(java: JavaClasses, name: str) -> Any:
    return java("java.lang.Class").forName(name)


@lru_cache(16)
def _object(java: JavaClasses, name: str) -> Any:
    """Spark's type of the objects of a class."""
    return java("org.apache.spark.sql.types.ObjectType")(_class(java, name))


@lru_cache(maxsize=1)
def _no_items(java: JavaClasses) -> Any:
    return _sequence(java, ())


def _sequence(java: JavaClasses, items: tuple[Any, ...]) -> Any:
    return java("org.apache.spark.api.python.PythonUtils").toSeq(list(items))
