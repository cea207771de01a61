"""CREATE, ALTER, DESCRIBE and DROP DATABASE, and USE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.lexer import Kind
from acidsql.grammar.properties import properties
from acidsql.statements.database import (
    CreateDatabase,
    DropDatabase,
    SetDatabaseProperties,
    Use,
)
from acidsql.statements.fragment import Identifier
from acidsql.statements.show import DescribeDatabase

DATABASE_WORDS = ("DATABASE", "SCHEMA", "NAMESPACE")


def parse_create_database(cursor: Cursor) -> CreateDatabase:
    """Parse a CREATE DATABASE from the cursor."""
    cursor.expect("CREATE")
    cursor.step()
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = database_name(cursor)
    clauses: dict[str, str] = {}
    given: tuple[tuple[str, str], ...] = ()
    while cursor.sees_any("COMMENT", "LOCATION") or cursor.sees("WITH", "DBPROPERTIES"):
        word = cursor.peek().word
        if word in clauses:
            cursor.source.syntax_error(f"{word} is given twice", cursor.offset)
        cursor.step()
        if word == "WITH":
            cursor.step()
            given = properties(cursor.parenthesised())
        clauses[word] = "" if word == "WITH" else cursor.string()
    if cursor.sees("WITH") or cursor.sees("MANAGEDLOCATION"):
        cursor.source.refuse(
            f"CREATE DATABASE … {cursor.peek().word} is not supported",
            cursor.offset,
            hint="Leave it out; COMMENT, LOCATION and WITH DBPROPERTIES are supported.",
        )
    return CreateDatabase(
        name, if_not_exists, clauses.get("COMMENT"), clauses.get("LOCATION"), given
    )


def parse_alter_database(cursor: Cursor) -> SetDatabaseProperties:
    """Parse an ALTER DATABASE from the cursor."""
    cursor.expect("ALTER")
    cursor.step()
    name = database_name(cursor)
    if not cursor.accept("SET", "DBPROPERTIES"):
        cursor.source.refuse(
            "this ALTER DATABASE is not supported",
            cursor.offset,
            hint="Write ALTER DATABASE d SET DBPROPERTIES ('key' = 'value').",
        )
    return SetDatabaseProperties(name, properties(cursor.parenthesised()))


def parse_describe_database(cursor: Cursor) -> DescribeDatabase:
    """Parse the rest of a DESCRIBE DATABASE, from the word DATABASE on."""
    cursor.step()
    follows = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    extended = cursor.sees("EXTENDED") and follows
    if extended:
        cursor.step()
    return DescribeDatabase(database_name(cursor), extended)


def parse_drop_database(cursor: Cursor) -> DropDatabase:
    """Parse a DROP DATABASE from the cursor."""
    cursor.expect("DROP")
    cursor.step()
    if_exists = cursor.accept("IF", "EXISTS")
    name = database_name(cursor)
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropDatabase(name, if_exists, cascade)


def parse_use(cursor: Cursor) -> Use:
    """Parse a USE from the cursor."""
    cursor.expect("USE")
    if cursor.sees_any(*DATABASE_WORDS) and cursor.peek(1).text:
        cursor.step()
    return Use(database_name(cursor))


def database_name(cursor: Cursor) -> Identifier:
    """Parse a database name, which has one part."""
    start = cursor.offset
    name = cursor.name("a database name")
    if cursor.sees("."):
        cursor.source.refuse(
            "a database name has one part", start, hint="Catalogs are not supported."
        )
    return name
