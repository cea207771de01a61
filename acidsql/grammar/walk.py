"""A walk over the tree of a query or expression finds tables, parameters and stars."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from acidsql.grammar.bucket_sample import bucket_sample, refuse_elsewhere
from acidsql.grammar.cursor import refuse_catalog
from acidsql.grammar.lexer import Kind, Source
from acidsql.grammar.table_properties import table_properties
from acidsql.model.hidden_column import HiddenColumn
from acidsql.statements.fragment import LongName, Parameter, Star, TableRef

_TABLE_WORDS = ("IDENTIFIER", "STREAM", "TABLE")
"""Words that look like a function but name something."""
_REFLECTION = frozenset({"java_method", "reflect", "try_reflect"})
_STAR_CLAUSES = ("except_", "except", "replace", "rename", "ilike")
_NOT_SPARK = (exp.Connect, exp.Final, exp.HistoricalData, exp.MatchRecognize)
"""Clauses that sqlglot accepts in a query, but that Spark does not have."""

_PARTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("expressions",),
    exp.In: ("expressions", "query", "unnest", "field"),
    exp.Group: tuple(exp.Group.arg_types),
}
"""Nodes → their parts of which one must be there."""

_EXTRACTS = (exp.JSONExtract, exp.Cast, exp.Bracket)
"""What may be a field of a variant."""
_LEAVES = frozenset({exp.Identifier, exp.Literal, exp.Null, exp.Boolean})
_PLAIN = frozenset({exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Paren})
"""Nodes in which there is nothing to find, but in their children."""

_OWN_DATABASE = ""
"""The database of a table that is named without one."""

_Scope = frozenset[str]


@dataclass
class TreeWalk:
    """Finds tables, parameters and stars in a tree. Places are offsets in the fragment."""

    source: Source
    base: int
    code: str
    outer: Sequence[TableRef] = ()
    """The tables of the statement around the expression, which the expression may name."""
    tables: dict[int, TableRef] = field(default_factory=dict)
    parameters: list[Parameter] = field(default_factory=list)
    stars: list[tuple[int, int, str | None, tuple[int, ...], bool]] = field(default_factory=list)
    leaks: list[tuple[int, str]] = field(default_factory=list)
    qualifiers: list[tuple[int, int]] = field(default_factory=list)
    long_names: list[LongName] = field(default_factory=list)
    colons: set[int] = field(default_factory=set)
    """The places of colons in front of fields of variants."""
    samples: set[int] = field(default_factory=set)
    """The samples of buckets, by their nodes' ids, that stand behind a table."""
    lacks_something: bool = False
    """Whether sqlglot has passed over a place where something is missing, as in ``SELECT FROM t``.
    """

    def run(self, tree: exp.Expr) -> None:
        """Visit every node, with the names of the tree's common table expressions in its scope."""
        stack: list[tuple[exp.Expr, _Scope]] = [(tree, frozenset())]
        selects: list[exp.Select] = []
        while stack:
            node, scope = stack.pop()
            kind = type(node)
            if kind in _LEAVES or kind is exp.Hint:
                continue
            if kind in _PLAIN:
                stack += [(child, scope) for child in node.iter_expressions()]
                continue
            self._visit(node, scope)
            if isinstance(node, exp.Select):
                selects.append(node)
            with_ = node.args.get("with_")
            if with_ is not None:
                bodies, scope = _cte_scopes(with_, scope)
                stack += bodies
            stack += [(child, scope) for child in node.iter_expressions() if child is not with_]
        for select in selects:
            self._select(select)

    def sorted_tables(self) -> list[TableRef]:
        return sorted(self.tables.values(), key=lambda ref: ref.start)

    def sorted_stars(self) -> list[Star]:
        index = {ref.start: i for i, ref in enumerate(self.sorted_tables())}
        stars = []
        for start, end, qualifier, sources, is_plain in sorted(self.stars):
            found = tuple(sorted(index[s] for s in sources))
            stars.append(Star(start, end, qualifier, found, is_plain))
        return stars

    def refuse_leaks(self, hidden: Collection[HiddenColumn]) -> None:
        """Refuse a place whose meaning would change if a table showed these columns."""
        [name, *_] = (column.value for column in HiddenColumn if column in hidden)
        for offset, what in sorted(self.leaks):
            self.source.refuse(
                f"{what} cannot be used together with {name}",
                self.base + offset,
                hint="List the columns by name.",
            )

    def check_parameters(self, tokens: list[tuple[Kind, str, int]]) -> None:
        """Raise SqlSyntaxError for a ``?`` or ``:`` that no parameter or other syntax explains."""
        known = {p.start for p in self.parameters}
        for index, (kind, text, start) in enumerate(tokens):
            if kind is not Kind.SYMBOL or text not in "?:" or start in known | self.colons:
                continue
            if text == ":" and _colon_is_known(tokens, index):
                continue
            self.source.syntax_error(f'unexpected "{text}"', self.base + start)

    def _visit(self, node: exp.Expr, scope: _Scope) -> None:
        self._refuse_unknown(node)
        self._note_colons(node)
        match node:
            case exp.Table():
                self._table(node, scope)
            case exp.Placeholder():
                self._parameter(node)
            case exp.Column() if len(node.parts) > 2:
                self._qualifier(node, scope)
            case exp.Star():
                self._star_outside_list(node)
            case exp.Select() | exp.In() | exp.Group():
                self.lacks_something |= not any(node.args.get(key) for key in _PARTS[type(node)])
            case exp.TableSample() if node.args.get("bucket_numerator"):
                if id(node) not in self.samples:
                    refuse_elsewhere(node, self.source, self.base)
            case exp.Join() if node.args.get("method") == "NATURAL":
                self.leaks.append((self._start(node), "NATURAL JOIN"))
            case exp.Pivot():
                what = "UNPIVOT" if node.args.get("unpivot") else "PIVOT"
                self.leaks.append((self._start(node), what))
            case _:
                pass

    def _note_colons(self, node: exp.Expr) -> None:
        if isinstance(node, _EXTRACTS):
            self.colons.update(node.meta.get("colons", ()))

    def _refuse_unknown(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Into):
            self._refuse(node, "SELECT … INTO is not supported", "Write INSERT INTO … SELECT.")
        if isinstance(node, exp.QueryTransform):
            self._refuse(node, "SELECT TRANSFORM is not supported", "Use Spark SQL functions.")
        if isinstance(node, exp.Fetch):
            self._refuse(node, "FETCH is not supported", "Write LIMIT n.")
        if isinstance(node, _NOT_SPARK):
            self._refuse(node, f"{node.key.upper()} is not supported", "See docs/statements.md.")
        if isinstance(node, exp.Lock):
            self._refuse(node, "SELECT … FOR UPDATE is not supported", "Leave it out.")
        if isinstance(node, (exp.Command, exp.DML, exp.DDL, exp.Parameter)) and not isinstance(
            node, exp.Query
        ):
            self._refuse(node, f"{node.key.upper()} is not supported", "See docs/statements.md.")
        if isinstance(node, exp.Anonymous) and node.name.lower() in _REFLECTION:
            self._refuse_reflection(node)
        if isinstance(node, exp.Anonymous) and node.name.upper() in _TABLE_WORDS:
            self._refuse(node, f"{node.name.upper()}(…) is not supported", "Write the name itself.")

    def _refuse_reflection(self, node: exp.Expr) -> None:
        """Refuse a function that can call any method of Java, unless the session allows them."""
        if not self.source.reflection:
            hint = "Connect with the property acidsql.allow.reflection = true to allow it."
            self._refuse(node, f"{node.name.lower()}(…) calls Java, which is not allowed", hint)

    def _refuse(self, node: exp.Expr, message: str, hint: str) -> NoReturn:
        self.source.refuse(message, self.base + self._start(node), hint=hint)

    def _start(self, node: exp.Expr) -> int:
        starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
        return min(starts, default=0)

    def _table(self, node: exp.Table, scope: _Scope) -> None:
        name, database = node.this, node.args.get("db")
        self._refuse_past(node)
        properties = None
        if isinstance(name, exp.Func):
            properties = table_properties(name, self.code, self.source, self.base)
            if properties is None:
                return
            name = properties.name
            node.set("this", name)
        if database is not None and not isinstance(database, exp.Identifier):
            self.source.syntax_error('unexpected "."', self.base + self._start(node))
        first = database or name
        if node.args.get("catalog") is not None or isinstance(name, exp.Dot):
            refuse_catalog(self.source, self.base + self._start(node))
        self._refuse_no_name(node, name)
        start, end = first.meta["start"], name.meta["end"] + 1
        if properties is not None:
            end = properties.end
        if self.code[start] in "'\"":
            self.source.syntax_error("a quoted table name needs back quotes", self.base + start)
        if database is None and name.name.lower() in scope:
            if properties is not None:
                self._refuse(node, f'"{name.name}" is no table', "Properties are for tables.")
            return
        line, column = self.source.place(self.base + start)
        sample = _bucket_sample_of(node)
        if sample is not None:
            self.samples.add(id(sample))
        self.tables[id(node)] = TableRef(
            database=database.name if database is not None else None,
            table=name.name,
            alias=node.alias or None,
            start=start,
            end=end,
            line=line,
            column=column,
            is_common=database is None and name.name.lower() in self.source.common_tables,
            sample=None if sample is None else bucket_sample(sample, self.source, self.base),
            sample_end=_sample_end(node),
            with_deleted=properties is not None and properties.with_deleted,
        )

    def _refuse_past(self, node: exp.Table) -> None:
        if node.args.get("version") or node.args.get("when"):
            self._refuse(
                node,
                "VERSION AS OF and TIMESTAMP AS OF are not supported",
                "A query reads the snapshot of its own transaction.",
            )

    def _refuse_no_name(self, node: exp.Table, name: exp.Expr) -> None:
        if not isinstance(name, exp.Identifier) or "start" not in name.meta:
            self._refuse(node, "a table name is expected here", "Parameters stand for values only.")
        if not name.quoted and name.name.upper() in ("STREAM", "TABLE") and node.alias:
            self._refuse(
                node,
                f"FROM {name.name.upper()} … is not supported",
                "Quote a name with back quotes.",
            )

    def _parameter(self, node: exp.Placeholder) -> None:
        start, end = node.meta["start"], node.meta["end"] + 1
        if node.arg_key == "alias" or isinstance(
            node.parent, (exp.Table, exp.TableAlias, exp.Column, exp.Dot, exp.ColumnDef)
        ):
            self.source.syntax_error("a parameter can only stand for a value", self.base + start)
        number = self.source.question_marks.get(self.base + start)
        name = node.name if number is None else f"_{number}"
        node.set("this", name)
        self.parameters.append(Parameter(name, start, end))
        self.source.parameters[self.base + start] = name

    def _qualifier(self, column: exp.Column, scope: _Scope) -> None:
        """Note that the ``db.`` of ``db.t.column`` is to be removed, if the nearest FROM has db.t.

        If that FROM has only ``t``, it is a `LongName`. It stays for a table of an outer query:
        without the database, the name might be taken for a table of the inner query.
        """
        database, table, name = column.parts[:3]
        databases = self._databases(column, table.name.lower())
        is_common = table.name.lower() in (scope | self.source.common_tables)
        if databases == [_OWN_DATABASE] and not is_common:
            start, end = database.meta["start"], table.meta["start"]
            self.long_names.append(LongName(start, end, database.name, table.name, name.name))
        if database.name.lower() not in databases:
            return
        if len(databases) > 1:
            self._refuse(
                column, f'"{table.name}" is the name of several sources', "Give each an alias."
            )
        self.qualifiers.append((database.meta["start"], table.meta["start"]))
        database.pop()

    def _databases(self, node: exp.Expr, name: str) -> list[str | None]:
        """The databases of all sources with this name in the node's FROM; None for an alias."""
        select = node.find_ancestor(exp.Select)
        if select is None:
            refs = [(r.visible_name, r.database or "", r.alias) for r in self.outer]
        else:
            sources = [source for source, _ in direct_sources(select)]
            refs = [(s.alias_or_name, s.text("db"), s.alias) for s in sources]
        return [None if alias else db.lower() for n, db, alias in refs if n.lower() == name]

    def _star_outside_list(self, star: exp.Star) -> None:
        """Note a star that does not stand directly in a select list; ``count(*)`` is left out."""
        node: exp.Expr = star.parent if isinstance(star.parent, exp.Column) else star
        parent = node.parent
        plain = isinstance(parent, exp.Select) and node.arg_key == "expressions"
        counts = isinstance(parent, exp.Count) and node is star
        if not plain and not counts:
            self.leaks.append((star.meta.get("start", 0), "a star inside an expression"))

    def _select(self, select: exp.Select) -> None:
        direct = list(direct_sources(select))
        for node in select.expressions:
            star = node.this if isinstance(node, exp.Column) else node
            if not isinstance(star, exp.Star):
                continue
            start, end = star.meta.get("start", -1), star.meta.get("end", -1) + 1
            if start < 0 or self.code[start:end] != "*":
                where = max(start, self._start(select))
                self.leaks.append((where, "TABLE or FROM without a select list"))
            elif any(star.args.get(key) for key in _STAR_CLAUSES):
                self.leaks.append((start, "a star with EXCEPT"))
            elif isinstance(node, exp.Column):
                self._qualified_star(node, direct)
            else:
                shown = [source for source, is_shown in direct if is_shown]
                sources = tuple(
                    self.tables[id(table)].start for table in shown if id(table) in self.tables
                )
                is_plain = self._are_plain(shown) and not merges_columns(select)
                self.stars.append((start, end, None, sources, is_plain))

    def _qualified_star(self, node: exp.Column, direct: list[tuple[exp.Expr, bool]]) -> None:
        parts = [part.name for part in node.parts[:-1]]
        start, end = self._start(node), node.this.meta["end"] + 1
        for name in self.long_names:
            if name.start == start:
                start = name.end
                del parts[0]
        sources, matches = [], []
        for source, _ in direct:
            named = (
                [source.alias]
                if source.alias
                else [p.name for p in source.parts]
                if isinstance(source, exp.Table)
                else []
            )
            if [p.lower() for p in parts] in (
                [n.lower() for n in named],
                [n.lower() for n in named[-1:]],
            ):
                matches.append(source)
                if id(source) in self.tables:
                    sources.append(self.tables[id(source)].start)
        if not matches:
            self.leaks.append((start, f"the star of {'.'.join(parts)}"))
        is_plain = len(matches) == 1 and self._are_plain(matches)
        self.stars.append((start, end, parts[-1], tuple(sources), is_plain))

    def _are_plain(self, sources: Sequence[exp.Expr]) -> bool:
        """Whether all sources are tables that show their own columns, under their own names."""
        return all(
            id(source) in self.tables
            and isinstance(source, exp.Table)
            and not source.alias_column_names
            and not source.args.get("pivots")
            for source in sources
        )


def _bucket_sample_of(table: exp.Table) -> exp.Expr | None:
    sample: exp.Expr | None = table.args.get("sample")
    return sample if sample is not None and sample.args.get("bucket_numerator") else None


def _sample_end(table: exp.Table) -> int | None:
    sample: exp.Expr | None = table.args.get("sample")
    return None if sample is None else int(sample.meta["end"]) + 1


def _cte_scopes(with_: exp.Expr, scope: _Scope) -> tuple[list[tuple[exp.Expr, _Scope]], _Scope]:
    """The bodies of a WITH, each with the names in its scope, and the scope of the query itself.

    The scope of a body has the expressions before it, and the body itself if WITH is RECURSIVE.
    """
    bodies = []
    for cte in with_.expressions:
        inner = scope | {cte.alias.lower()}
        bodies.append((cte.this, inner if with_.args.get("recursive") else scope))
        scope = inner
    return bodies, scope


def direct_sources(node: exp.Expr) -> list[tuple[exp.Expr, bool]]:
    """The sources in FROM and JOIN, each with whether an unqualified star shows its columns."""
    found: list[tuple[exp.Expr, bool]] = []
    from_ = node.args.get("from_")
    if from_ is not None:
        found += _source(from_.this, shown=True)
    for join in node.args.get("joins") or ():
        shown = join.args.get("kind") not in ("SEMI", "ANTI")
        found += _source(join.this, shown=shown)
    for lateral in node.args.get("laterals") or ():
        found.append((lateral, True))
    return found


def selects_seen(node: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose sources a name may be of, from the nearest one outwards.

    A query in FROM sees nothing of the one around it without LATERAL.
    """
    below, within_select = node, False
    while (parent := node.parent) is not None:
        is_in_from = isinstance(parent, (exp.From, exp.Join)) and node.arg_key == "this"
        is_query = isinstance(below, exp.Query) and below.arg_key == "this"
        if within_select and (isinstance(parent, exp.CTE) or (is_in_from and is_query)):
            return
        if isinstance(parent, exp.Select):
            within_select = True
            yield parent
        below, node = node, parent


def is_of_subquery(column: exp.Column) -> bool:
    """Whether the qualifier is the name of a source of a subquery that the column stands in."""
    sources = [item for select in selects_seen(column) for item, _ in direct_sources(select)]
    names = {item.alias_or_name.lower() for item in sources}
    return any(part.name.lower() in names for part in column.parts[:-1][:2])


def has_correlated_subquery(expression: exp.Expr) -> bool:
    """Whether a subquery has a column of a row outside of it. A name without a qualifier has not.

    What such a name means is unknown without a catalog.
    """
    columns = (c for query in expression.find_all(exp.Select) for c in query.find_all(exp.Column))
    return any(len(column.parts) > 1 and not is_of_subquery(column) for column in columns)


def merges_columns(select: exp.Select) -> bool:
    """Whether a NATURAL join, or one with USING, makes one column of two."""
    joins = select.find_all(exp.Join)
    return any(j.args.get("using") or j.args.get("method") == "NATURAL" for j in joins)


def _source(node: exp.Expr, *, shown: bool) -> list[tuple[exp.Expr, bool]]:
    inner = node.this
    if (
        isinstance(node, exp.Subquery)
        and isinstance(inner, (exp.Table, exp.Subquery))
        and not node.alias
    ):
        found = _source(inner, shown=shown)
    else:
        found = [(node, shown)]
    if isinstance(node, (exp.Table, exp.Subquery)):
        found += [(source, shown and inside) for source, inside in direct_sources(node)]
    return found


def _colon_is_known(tokens: list[tuple[Kind, str, int]], index: int) -> bool:
    """Whether a colon is half of ``::``, or stands between a struct's field and its type."""
    start = tokens[index][2]
    neighbours = [t for t in tokens[max(0, index - 1) : index + 2] if t[1] == ":"]
    if any(abs(t[2] - start) == 1 for t in neighbours):
        return True
    return index >= 2 and tokens[index - 2][1] in "<,"
