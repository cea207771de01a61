"""What a catalog keeps for Hive, too: the texts of views, of DEFAULT and of CHECK."""

from __future__ import annotations

from acidsql.grammar.escapes import hive_escapes, spark_escapes
from acidsql.grammar.instants import hive_instants
from acidsql.grammar.lexer import UnclosedError
from acidsql.grammar.quotes import escaped_quotes, parted_quotes


def hive_words(text: str) -> str:
    r"""The text of a query or an expression in words that Hive reads as Spark does.

    Hive knows no ``TIMESTAMP_LTZ`` and no raw texts, and takes ``'it''s'`` for two texts.
    """
    return hive_instants(hive_escapes(escaped_quotes(text)))


def spark_words(text: str) -> str:
    """The text of a query or an expression of Hive's in words that Spark reads as Hive does.

    Our parser itself knows Hive's words of instants. Any program may have written the text. One
    with an unclosed quote or comment comes back as it is, for the parser to refuse.
    """
    try:
        return spark_escapes(parted_quotes(text))
    except UnclosedError:
        return text
