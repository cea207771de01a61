"""What Spark believes can never be null, and Arrow cannot hold."""

from __future__ import annotations

from pyspark.sql import types as T  # noqa: N812

from acidsql.engines.spark.arrow import relaxed_type


def _struct(*, nullable: bool) -> T.StructType:
    inner = T.StructType([T.StructField("z", T.IntegerType(), nullable)])
    return T.StructType([T.StructField("y", inner, nullable, {"comment": "kept"})])


def test_the_fields_of_a_struct_may_be_null_at_any_depth() -> None:
    assert relaxed_type(_struct(nullable=False)) == _struct(nullable=True)


def test_structs_inside_of_arrays_and_maps_are_found() -> None:
    array = T.ArrayType(T.ArrayType(_struct(nullable=False), False), True)
    assert relaxed_type(array) == T.ArrayType(T.ArrayType(_struct(nullable=True), False), True)
    mapped = T.MapType(_struct(nullable=False), _struct(nullable=False), False)
    assert relaxed_type(mapped) == T.MapType(_struct(nullable=True), _struct(nullable=True), False)


def test_a_type_without_structs_stays_itself() -> None:
    kind = T.MapType(T.StringType(), T.ArrayType(T.DecimalType(5, 2), False), False)
    assert relaxed_type(kind) == kind


def test_what_is_null_by_its_type_may_be_null() -> None:
    void = T.NullType()
    assert relaxed_type(T.ArrayType(void, False)) == T.ArrayType(void, True)
    assert relaxed_type(T.MapType(void, void, False)) == T.MapType(T.StringType(), void, True)
