"""Hive's text form of properties, as its StringableMap writes and reads it."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from acidsql.model.string_map import parse_string_map, string_map_text

texts = st.text("a:1é\U0001f600 \n", max_size=6)


@given(st.dictionaries(texts, texts, max_size=4))
def test_what_is_written_is_read(values: dict[str, str]) -> None:
    assert parse_string_map(string_map_text(values)) == values


def test_as_java_counts() -> None:
    """A character beyond the first 65,536 has the length 2 in Java."""
    assert string_map_text({"k": "\U0001f600"}) == "1:1:k2:\U0001f600"
    assert string_map_text({}) == "0:"
    assert parse_string_map("2:1:a-1:1:b0:") == {"a": "", "b": ""}


@pytest.mark.parametrize(
    "text", ["", "x", "1", "1:", "1:1:a", "1:9:a1:b", "0:x", "1:1:a1:bb", "-1:", "1:x:a1:b"]
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"map of strings|ends inside|more than"):
        parse_string_map(text)
