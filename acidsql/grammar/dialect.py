"""The sqlglot dialect that parses queries and expressions. No SQL is generated with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from acidsql.errors import DependencyError
from acidsql.grammar.escapes import string_value
from acidsql.grammar.text_casts import CHAR_TYPES


class PlacedParseError(ParseError):
    """A parse error that knows its place in the text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message, errors=[{}])
        self.offset = offset
        self.of_arguments = message.startswith("The number of provided arguments")


_Build = Callable[[list[Any]], exp.Expr]


def _shuffle(arguments: list[Any]) -> exp.Expr:
    """``shuffle(a, seed)``; sqlglot knows no seed."""
    return exp.Anonymous(this="SHUFFLE", expressions=arguments)


def _with_nulls(name: str) -> _Build:
    """A builder that allows false, the default, as the second argument of ``any_value``."""
    build: _Build = SparkParser.FUNCTIONS[name]

    def built(arguments: list[Any]) -> exp.Expr:
        match arguments:
            case [value, exp.Boolean(this=False)]:
                return exp.RespectNulls(this=build([value]))
        return build(arguments)

    return built


def _with_distinct(name: str) -> _Build:
    """A builder that allows DISTINCT in front of two arguments, as in ``corr(DISTINCT a, b)``."""
    build: _Build = SparkParser.FUNCTIONS[name]

    def built(arguments: list[Any]) -> exp.Expr:
        match arguments:
            case [exp.Distinct(expressions=[one, other])]:
                return build([exp.Distinct(expressions=[one]), other])
        return build(arguments)

    return built


class AcidParser(SparkParser):
    """Spark's parser. It notes the places of parameters, and refuses unknown statements."""

    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **SparkParser.PLACEHOLDER_PARSERS,
        TokenType.PLACEHOLDER: lambda self: self.question_mark(),
        TokenType.COLON: lambda self: self.named_parameter(),
    }

    FUNCTIONS: ClassVar[dict[str, Any]] = {
        **SparkParser.FUNCTIONS,
        "SHUFFLE": _shuffle,
        **{name: _with_nulls(name) for name in ("ANY_VALUE", "FIRST_VALUE", "LAST_VALUE")},
        **{name: _with_distinct(name) for name in ("CORR", "COVAR_POP", "COVAR_SAMP")},
    }
    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **SparkParser.UNARY_PARSERS,
        TokenType.GT: lambda self: self.shifted_unsigned(),
    }
    # Python's ``x FOR y IN z`` would hide the FOR of a PIVOT.
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        kind: parse for kind, parse in SparkParser.RANGE_PARSERS.items() if kind != TokenType.FOR
    }

    # ``v:a.b``: a field of a variant
    COLON_IS_VARIANT_EXTRACT = True

    _types_begun = 0
    """How many types, one inside the other, are being parsed."""

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise PlacedParseError at a token, where sqlglot would quote an excerpt."""
        token = token or self._curr or self._prev
        raise PlacedParseError(message, token.start if token else 0)

    def _parse_csv(
        self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA
    ) -> list[Any]:
        """A list between commas. sqlglot would pass over an item that is missing."""
        item = parse_method()
        items = [] if item is None else [item]
        while self._match(sep):
            item = parse_method()
            if item is None:
                if self._is_function_after_all():
                    break
                self.raise_error("an item is missing")
            items.append(item)
        return items

    def _parse_types(self, *args: Any, **kwargs: Any) -> Any:
        """A type; None if there is none, after which sqlglot tries something else.

        sqlglot takes char(n) and varchar(n) for string. The words stay in ``meta["written"]``.
        """
        first = self._index
        self._types_begun += 1
        try:
            kind = super()._parse_types(*args, **kwargs)
        finally:
            self._types_begun -= 1
        if isinstance(kind, exp.DataType) and self._tokens[first].text.upper() in CHAR_TYPES:
            kind.meta["written"] = "".join(t.text for t in self._tokens[first : self._index])
        return kind

    def _parse_colon_as_variant_extract(self, this: exp.Expr | None) -> exp.Expr | None:
        """A field of a variant, if a colon is next. Its meta has the places of its colons."""
        first = self._index
        extract = super()._parse_colon_as_variant_extract(this)
        passed = self._tokens[first : self._index]
        if extract is not None and passed:
            colons = [token.start for token in passed if token.token_type is TokenType.COLON]
            extract.meta["colons"] = colons
        return extract

    def _parse_interval(self, *args: Any, **kwargs: Any) -> Any:
        """An interval of one or more units, which may have signs: ``INTERVAL 1 DAY -2 HOURS``.

        sqlglot takes a sign behind a unit for an operator. The tree lacks these units.
        """
        interval = super()._parse_interval(*args, **kwargs)
        while interval is not None and (length := self._length_of_unit()):
            self._advance(length)
        return interval

    def _length_of_unit(self) -> int:
        """How many of the next tokens are one more unit of an interval, with its sign; or 0."""
        ahead = self._tokens[self._index : self._index + 3]
        has_sign = bool(ahead) and ahead[0].token_type in (TokenType.DASH, TokenType.PLUS)
        match ahead[has_sign : has_sign + 2]:
            case [value, unit] if value.token_type == TokenType.NUMBER:
                known = unit.text.upper() in self.dialect.VALID_INTERVAL_UNITS
                return 2 + has_sign if known else 0
        return 0

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        """A value of a PIVOT. sqlglot would stop behind a function that it begins with."""
        return self._parse_alias(self._parse_disjunction())

    def _is_function_after_all(self) -> bool:
        """Whether what began like a type goes on like no type: ``array(NULL, 1)``."""
        is_closed = self._curr is None or self._curr.token_type in (TokenType.R_PAREN, TokenType.GT)
        return self._types_begun > 0 and not is_closed

    def _parse_join(self, *args: Any, **kwargs: Any) -> Any:
        """A join. sqlglot would pass over a table or condition that is missing at its end."""
        first = self._index
        join = super()._parse_join(*args, **kwargs)
        if self._index > first and self._prev.token_type in (TokenType.ON, TokenType.COMMA):
            self.raise_error("a condition or a table is missing")
        return join

    def _parse_subquery(self, this: Any, parse_alias: bool = True) -> Any:
        """A subquery. sqlglot expects its alias before a sample, Spark behind it."""
        subquery = super()._parse_subquery(this, parse_alias=parse_alias)
        if parse_alias and subquery and subquery.args.get("sample") and not subquery.alias:
            subquery.set("alias", self._parse_table_alias())
        return subquery

    def _parse_table_sample(self, as_modifier: bool = False) -> exp.TableSample | None:
        """A sample, with its place."""
        start = self._curr
        sample = self._bucket_sample() or super()._parse_table_sample(as_modifier=as_modifier)
        if start and sample is not None:
            sample.meta.update(start=start.start, end=self._prev.end)
        return sample

    def _bucket_sample(self) -> exp.TableSample | None:
        """A sample of buckets. sqlglot allows one field behind its ON, where Hive has a list."""
        first = self._index
        if not self._match_text_seq("TABLESAMPLE", "(", "BUCKET"):
            self._retreat(first)
            return None
        number = self._expected_number()
        if not self._match_text_seq("OUT", "OF"):
            self.raise_error("OUT OF is missing")
        count = self._expected_number()
        keys = self._parse_csv(self._placed_key) if self._match(TokenType.ON) else []
        self._match_r_paren()
        return exp.TableSample(bucket_numerator=number, bucket_denominator=count, expressions=keys)

    def _expected_number(self) -> exp.Expr:
        number = self._parse_number()
        if number is None:
            self.raise_error("a number is missing")
        return number

    def _placed_key(self) -> exp.Expr | None:
        """An expression behind the ON of a sample, with its place."""
        start = self.offset
        key = self._parse_disjunction()
        if key is None:
            self.raise_error("an expression is missing")
        placed = exp.Paren(this=key)
        placed.meta.update(start=start, end=self._prev.end)
        return placed

    @property
    def offset(self) -> int:
        """Where the parser is in the text."""
        token = self._curr or self._prev
        return token.start if token else 0

    def shifted_unsigned(self) -> exp.Expr:
        """What stands behind ``>>>``, of which sqlglot takes ``>>`` for an operator."""
        end = self._prev.end + 1
        signs = self.sql[max(end - 4, 0) : end]
        if not signs.endswith(">>>") or signs == ">>>>":
            self.raise_error("a value is missing", self._prev)
        return self.expression(exp.Paren(this=self._parse_unary()))

    def question_mark(self) -> exp.Expr:
        """A node for a ``?``, with its place."""
        node = exp.Placeholder()
        node.meta.update(start=self._prev.start, end=self._prev.end)
        return node

    def named_parameter(self) -> exp.Expr | None:
        """A node for a ``:name``, with its place."""
        start = self._prev.start
        if self._curr and self.sql[self._curr.start].isalpha():
            self._advance()  # any word, also a keyword
        elif not self._match_set(self.COLON_PLACEHOLDER_TOKENS):
            return None
        node = exp.Placeholder(this=self._prev.text)
        node.meta.update(start=start, end=self._prev.end)
        return node

    def _parse_as_command(self, start: Token) -> NoReturn:
        self.raise_error("this is not understood", start)


_ONLY_NAMES = frozenset(
    {"ALTER", "ASOF", "CREATE", "DESCRIBE", "DROP", "GRANT", "INSERT", "LIST", "LOCK", "OVERLAPS"}
    | {"REVOKE", "ROLLBACK", "SERDEPROPERTIES", "UNCACHE"}
)
"""Keywords of sqlglot that are nothing but names in a query of Spark."""


class AcidDialect(Spark):
    """Spark's SQL, for parsing only."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokenizer, but no command word takes the rest of the statement as one string."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word not in _ONLY_NAMES
        }

    Parser = AcidParser


_DIALECT = AcidDialect()
SPECIAL_WORDS = frozenset(
    {*AcidDialect.Tokenizer.KEYWORDS, *AcidParser.FUNCTIONS}
    | {kind.name for kind in AcidParser.NO_PAREN_FUNCTIONS}
    | {word.upper() for word in AcidParser.NO_PAREN_FUNCTION_PARSERS}
)
"""Words that may mean more than a name, in upper case."""
_SPACED_HEX = re.compile(r"\b[xX]\s+['\"]")
"""What a text with ``X '1F'`` has, if not in a comment or a string."""
_RECURSION = re.compile(r"\brecursion\s+level\b", re.IGNORECASE)
"""What a text with ``MAX RECURSION LEVEL n`` has, if no comment is in between."""
_OF_ARGUMENTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What sqlglot raises over a function with too few arguments, or with strange ones."""
_RELATION_PARTS = {"expressions", "from_", "joins"}
"""The parts of a SELECT that consists of nothing but a FROM clause."""
_QUERY_STARTS = (
    TokenType.L_PAREN,
    TokenType.UNION,
    TokenType.EXCEPT,
    TokenType.INTERSECT,
    TokenType.ALL,
    TokenType.DISTINCT,
)


def parse_query_tree(code: str) -> exp.Expr:
    """The tree of a query. Raises PlacedParseError."""
    tokens = _expand_table_queries(_tokenize(code))
    return _parsed(lambda parser: parser.parse(tokens, code))


def parse_expression_tree(code: str) -> exp.Expr:
    """The tree of an expression. Raises PlacedParseError."""
    tokens = _expand_table_queries(_tokenize(code))
    return _parsed(lambda parser: parser.parse_into(exp.Condition, tokens, code))


def parse_relation_tree(code: str) -> exp.Expr:
    """The tree of ``SELECT NULL FROM`` and the code: a relation of a FROM clause.

    Raises PlacedParseError, also for what follows the relations of a FROM clause.
    """
    first = Token(TokenType.FROM, "FROM", line=1, col=1, start=0, end=0)
    tokens = [first, *_expand_table_queries(_tokenize(code))]
    tree = _parsed(lambda parser: parser.parse(tokens, code))
    given = {key for key, value in tree.args.items() if value}
    # sqlglot adds a star, with the place of FROM. With another place it is one of the text.
    is_added = [e.meta.get("start") for e in tree.expressions if isinstance(e, exp.Star)] == [0]
    if not isinstance(tree, exp.Select) or given - _RELATION_PARTS or not is_added:
        raise PlacedParseError("this is no table, query or join", 0)
    tree.set("expressions", [exp.Null()])
    return tree


def new_parser(parser_type: type[AcidParser] = AcidParser) -> AcidParser:
    """A parser for one text. DependencyError if sqlglot's classes are compiled ones.

    Python uses the compiled classes wherever the package ``sqlglotc`` is installed. They allow no
    subclasses in Python, and say so with a TypeError when the first object is made.
    """
    try:
        return parser_type(dialect=_DIALECT, error_level=ErrorLevel.IMMEDIATE)
    except TypeError as error:
        raise DependencyError(
            f"acidsql cannot extend the parser of sqlglot that is installed: {error}",
            hint="The package sqlglotc compiles that parser. Remove it: pip uninstall sqlglotc.",
        ) from None


def _parsed(parse: Callable[[AcidParser], list[exp.Expr | None]]) -> exp.Expr:
    parser = new_parser()
    try:
        return _only(parse(parser))
    except PlacedParseError:
        raise
    except ParseError as error:
        if isinstance(error.__cause__, PlacedParseError):
            raise error.__cause__ from None
        raise PlacedParseError("this is not understood", 0) from None
    except _OF_ARGUMENTS:
        raise PlacedParseError("this is not understood", parser.offset) from None


def _tokenize(code: str) -> list[Token]:
    try:
        tokens = _DIALECT.tokenize(code)
    except TokenError:
        raise PlacedParseError("this is not understood", 0) from None
    if "\\" in code:
        _read_escapes(tokens, code)
    if _RECURSION.search(code):
        tokens = _without_levels(tokens)
    return _join_hex_strings(tokens) if _SPACED_HEX.search(code) else tokens


def _without_levels(tokens: list[Token]) -> list[Token]:
    """The tokens without the ``MAX RECURSION LEVEL n`` of a WITH, which sqlglot does not know."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        words = [token.text.upper() for token in tokens[at : at + 3]]
        behind = tokens[at + 4 : at + 5]
        is_end = bool(behind) and behind[0].token_type in (TokenType.ALIAS, TokenType.L_PAREN)
        if words == ["MAX", "RECURSION", "LEVEL"] and is_end:
            at += 4
        else:
            out.append(tokens[at])
            at += 1
    return out


def _read_escapes(tokens: list[Token], code: str) -> None:
    """Give each string the value that Spark reads. Not all versions of sqlglot know the escapes.

    PlacedParseError for a text that has none, in what another program has put into a catalog.
    """
    for token in tokens:
        if token.token_type is TokenType.STRING:
            try:
                token.text = string_value(code[token.start : token.end + 1])
            except ValueError as error:
                raise PlacedParseError(str(error), token.start) from None


def _join_hex_strings(tokens: list[Token]) -> list[Token]:
    """Turn ``X '1F'`` into ``X'1F'``, which is the same to Spark."""
    out: list[Token] = []
    for token in tokens:
        sign = out[-1] if out else token
        is_joined = (
            token.token_type is TokenType.STRING
            and sign.token_type is TokenType.VAR
            and sign.text in ("x", "X")
            and not (len(out) > 1 and out[-2].token_type is TokenType.DOT)
        )
        if is_joined:
            kind, text = TokenType.HEX_STRING, token.text
            out[-1] = Token(kind, text, sign.line, sign.col, start=sign.start, end=token.end)
        else:
            out.append(token)
    return out


def _only(trees: list[exp.Expr | None]) -> exp.Expr:
    if len(trees) != 1 or trees[0] is None:
        raise PlacedParseError("this is not understood", 0)
    return trees[0]


def _expand_table_queries(tokens: list[Token]) -> list[Token]:
    """Turn ``TABLE t`` into ``SELECT * FROM t``. All three words get the place of TABLE.

    sqlglot would take ``TABLE t`` for a table called TABLE with the alias t.
    """
    if not any(token.token_type is TokenType.TABLE for token in tokens):
        return tokens
    out: list[Token] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1].token_type if index else TokenType.L_PAREN
        after = tokens[index + 1].token_type if index + 1 < len(tokens) else TokenType.L_PAREN
        starts = before in _QUERY_STARTS or before is TokenType.R_PAREN
        if token.token_type is not TokenType.TABLE or not starts or after is TokenType.L_PAREN:
            out.append(token)
            continue
        for kind, text in (
            (TokenType.SELECT, "SELECT"),
            (TokenType.STAR, "*"),
            (TokenType.FROM, "FROM"),
        ):
            out.append(
                Token(kind, text, line=token.line, col=token.col, start=token.start, end=token.end)
            )
    return out
