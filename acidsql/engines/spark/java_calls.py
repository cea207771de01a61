"""Calls of Java's methods as expressions of Spark, which compiles them into the code of a scan.

SQL can call Java only by reflection. Spark's own encoders call methods by the expressions that are
made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses
from acidsql.orc.keys import Longs

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_OBJECTS = f"{_EXPRESSIONS}.objects"
_BROADCAST = "org.apache.spark.broadcast.Broadcast"


@dataclass(frozen=True, slots=True)
class JavaCalls:
    """Makes calls, and the objects that they need, in the driver's JVM.

    The caller sees to it that no argument is NULL and that no method returns null.
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
        return self.java(f"{_EXPRESSIONS}.UnsafeArrayData").fromPrimitiveArray(self.longs(values))

    def broadcast(self, value: Any) -> Column:
        """An expression of a Java object, of which each executor gets one copy for all tasks."""
        held = self.spark.sparkContext._jsc.broadcast(value)
        literal = self.java(f"{_EXPRESSIONS}.Literal")(held, self._object(self._class(_BROADCAST)))
        return self._column(self._invoke(literal, "value", self._object(value.getClass()), ()))

    def method(self, target: Column, name: str, result: str, *arguments: Column) -> Column:
        """The call of an object's method. ``result`` is a name as in Spark's DataTypes."""
        return self._column(self._invoke(self._of(target), name, self._type(result), arguments))

    def static(self, owner: str, name: str, result: str, *arguments: Column) -> Column:
        """The call of a class's method. ``result`` is a name as in Spark's DataTypes."""
        no_function = self.java("scala.Option").empty()
        call = self.java(f"{_OBJECTS}.StaticInvoke")(
            self._class(owner),
            self._type(result),
            name,
            self._sequence(arguments),
            self._sequence(()),
            True,  # a NULL among the arguments gives NULL
            False,  # the method returns no null
            True,  # the method is deterministic
            no_function,
        )
        return self._column(call)

    def murmur3(self, value: Column, seed: int) -> Column:
        """Spark's hash of a value, which begins with the seed. In SQL every hash begins with 42."""
        expression = self.java(f"{_EXPRESSIONS}.Murmur3Hash")(self._sequence((value,)), seed)
        return self._column(expression)

    def _invoke(self, target: Any, name: str, kind: Any, arguments: tuple[Column, ...]) -> Any:
        return self.java(f"{_OBJECTS}.Invoke")(
            target, name, kind, self._sequence(arguments), self._sequence(()), True, False, True
        )  # the three flags are those of `static`

    def _class(self, name: str) -> Any:
        return self.java("java.lang.Class").forName(name)

    def _object(self, kind: Any) -> Any:
        return self.java("org.apache.spark.sql.types.ObjectType")(kind)

    def _type(self, name: str) -> Any:
        return getattr(self.java("org.apache.spark.sql.types.DataTypes"), f"{name}Type")

    def _sequence(self, columns: tuple[Column, ...]) -> Any:
        found = [self._of(column) for column in columns]
        return self.java("org.apache.spark.api.python.PythonUtils").toSeq(found)

    def _of(self, column: Column) -> Any:
        return self.java("org.apache.spark.sql.classic.ExpressionUtils").expression(column._jc)

    def _column(self, expression: Any) -> Column:
        from pyspark.sql import Column  # noqa: PLC0415

        return Column(self.java("org.apache.spark.sql.classic.ExpressionUtils").column(expression))
