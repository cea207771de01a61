"""Whether what a plan was made of is still the same."""

from dataclasses import replace

from acidsql.model.names import TableName
from acidsql.planner.names import SeenNames
from grammar_tests.planning import DeclaredNames

T, V = TableName("default", "t"), TableName("default", "v")


def declared():
    return DeclaredNames.of(["t (k int)", "view v (k) AS SELECT k FROM t"])


def test_a_view_that_was_asked_for_and_is_changed_or_dropped():
    for change in ("changed", "dropped"):
        names = declared()
        seen = SeenNames(names)
        assert seen.find_view(V) is not None
        assert seen.still_hold()
        if change == "changed":
            names.views[V] = replace(names.views[V], expanded_text="SELECT 1 AS k")
        else:
            del names.views[V]
        assert not seen.still_hold()
        assert seen.find_view(V) == declared().views[V]


def test_a_name_that_was_none_and_becomes_a_view():
    names = declared()
    view = names.views.pop(V)
    seen = SeenNames(names)
    assert (seen.find_table(V), seen.find_view(V)) == (None, None)
    names.views[V] = view
    assert not seen.still_hold()


def test_a_table_that_becomes_a_view():
    names = declared()
    seen = SeenNames(names)
    seen.find_table(T)
    del names.tables[T]
    names.views[T] = replace(names.views[V], name=T)
    assert not seen.still_hold()


def test_what_was_not_asked_for_may_change():
    names = declared()
    seen = SeenNames(names)
    seen.find_table(T)
    del names.views[V]
    assert seen.still_hold()
