"""Statements as a tree of text, for goldens."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any

from acidsql.statements.fragment import BucketSample, Fragment, Identifier, TableRef


def render(statement: Any) -> str:
    """The kind on the first line, then one line per field that is set, indented by depth."""
    return "\n".join(_lines(statement))


def _lines(value: Any) -> list[str]:
    """A dataclass: its kind, then its fields."""
    lines = [type(value).__name__]
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        if not (field.name in ("line", "column") and isinstance(part, int)):
            lines += _field(field.name, part)
    return lines


def _field(name: str, value: Any) -> list[str]:
    if value is None or value is False or value == ():
        return []
    if isinstance(value, tuple):
        flat = [_inline(item) for item in value]
        if all(text is not None for text in flat):
            return [f"  {name}: {', '.join(map(str, flat))}"]
        lines = [f"  {name}:"]
        for item in value:
            lines += [f"    {line}" for line in _item(item)]
        return lines
    text = _inline(value)
    if text is not None:
        return [f"  {name}: {text}"]
    first, *rest = _item(value)
    return [f"  {name}: {first}", *(f"  {line}" for line in rest)]


def _item(value: Any) -> list[str]:
    if isinstance(value, Fragment):
        return _fragment(value)
    if isinstance(value, tuple):
        parts = [_item(item) for item in value]
        head = ", ".join(part[0] for part in parts)
        return [f"({head})", *(line for part in parts for line in part[1:])]
    text = _inline(value)
    return [text] if text is not None else _lines(value)


def _inline(value: Any) -> str | None:
    """What fits on one line without more; None for the rest."""
    match value:
        case TableRef():
            name = ".".join(f"{part}" for part in (value.database, value.table) if part)
            alias = f" as {value.alias}" if value.alias else ""
            common = " of WITH" if value.is_common else ""
            common += " with deleted rows" if value.with_deleted else ""
            return f"{name}{common}{alias} @{value.line}:{value.column}{_sample(value.sample)}"
        case Identifier():
            return value.name
        case bool():
            return "yes"
        case Enum():
            return str(value.value)
        case str():
            return repr(value)
        case int():
            return str(value)
        case (str(key), str(text)):
            return f"{key}={text!r}"
        case _:
            return None


def _sample(sample: BucketSample | None) -> str:
    if sample is None:
        return ""
    names = [".".join(key.column) or f"{key.start}-{key.end}" for key in sample.keys]
    keys = f" on {', '.join(names)}" if names else ""
    return f" bucket {sample.number}/{sample.count} at {sample.start}-{sample.end}{keys}"


def _fragment(fragment: Fragment) -> list[str]:
    """The text, then what was found in it."""
    text = " ⏎ ".join(fragment.text.split("\n"))
    lines = [f"`{text}` @{fragment.line}:{fragment.column}"]
    if fragment.tables:
        lines.append(f"  reads: {', '.join(str(_inline(ref)) for ref in fragment.tables)}")
    if fragment.parameters:
        lines.append(f"  parameters: {', '.join(p.name for p in fragment.parameters)}")
    for star in fragment.stars:
        tables = ", ".join(fragment.tables[index].visible_name for index in star.sources)
        lines.append(
            f"  star {fragment.text[star.start : star.end]} @{star.start}: {tables or '-'}"
        )
    if fragment.hidden:
        lines.append(f"  mentions {', '.join(sorted(c.value for c in fragment.hidden))}")
    return lines
