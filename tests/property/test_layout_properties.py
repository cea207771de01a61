import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.layout.acid_state import acid_state
from acidsql.layout.dir_names import (
    BaseDir,
    BucketFile,
    DeltaDir,
    OriginalFile,
    parse_base,
    parse_bucket_file,
    parse_delta,
    parse_directory,
    parse_original_file,
)
from acidsql.layout.listing import ListedFile
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.reader import read_events
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns

ids = st.integers(0, 2**63 - 1)
small = st.integers(0, 12)


@given(st.one_of(ids, st.just(-(2**63))), ids)
def test_base_names_come_back(write_id: int, txn_id: int) -> None:
    base = BaseDir(write_id, txn_id)
    assert parse_base(base.name) == base
    assert parse_delta(base.name) is None


@given(ids, ids, st.none() | st.integers(0, 4095), st.booleans(), ids)
def test_delta_names_come_back(
    one: int, other: int, statement_id: int | None, is_delete: bool, txn_id: int
) -> None:
    delta = DeltaDir(min(one, other), max(one, other), statement_id, is_delete, txn_id)
    assert parse_delta(delta.name) == delta
    assert parse_base(delta.name) is None


@given(st.integers(0, 2**31 - 1), st.none() | st.integers(0, 99))
def test_file_names_come_back(bucket_id: int, number: int | None) -> None:
    assert parse_bucket_file(BucketFile(bucket_id, number).name) == BucketFile(bucket_id, number)
    original = OriginalFile(bucket_id, number or 0, number)
    assert parse_original_file(original.name) == original


@given(st.text(alphabet="base_delt0123456789v-", max_size=25))
def test_any_text_is_a_name_or_not(text: str) -> None:
    directory = parse_directory(text)
    assert directory is None or parse_directory(directory.name) == directory


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[ListedFile], ValidWriteIdList]:
    """What writers and compactors may leave: single write ids, ranges from the start, bases."""
    mark = draw(st.integers(1, 8))
    aborted = draw(st.sets(st.integers(1, mark)))
    names = {
        DeltaDir(w, w, draw(st.integers(0, 1)), draw(st.booleans())).name
        for w in draw(st.lists(st.integers(1, mark)))
    }
    if draw(st.booleans()):
        names.add(DeltaDir(1, draw(st.integers(1, mark)), None).name)
    names |= {BaseDir(w).name for w in draw(st.sets(st.integers(1, mark), max_size=2))}
    files = [ListedFile(f"{name}/bucket_00000", 1) for name in sorted(names)]
    return draw(st.permutations(files)), ValidWriteIdList("db.t", mark, aborted=frozenset(aborted))


@given(histories())
def test_each_directory_is_judged_once(
    history: tuple[list[ListedFile], ValidWriteIdList],
) -> None:
    files, valid_write_ids = history
    state = acid_state(files, valid_write_ids)
    judged = [*state.names, *state.obsolete, *state.aborted]
    assert len(judged) == len(set(judged))
    assert set(judged) <= {file.path.split("/")[0] for file in files}
    # Cleaning changes nothing a reader of the same snapshot sees.
    gone = {*state.obsolete, *state.aborted}
    left = [file for file in files if file.path.split("/")[0] not in gone]
    assert acid_state(left, valid_write_ids).names == state.names


NESTED = columns(
    i="int",
    s="struct<x:bigint,y:struct<z:string>>",
    l="array<struct<x:int>>",
    m="map<string,struct<x:array<int>>>",
)
nullable_int = st.none() | st.integers(-5, 5)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "i": nullable_int,
            "s": st.none()
            | st.fixed_dictionaries(
                {
                    "x": nullable_int,
                    "y": st.none() | st.fixed_dictionaries({"z": st.none() | st.text(max_size=2)}),
                }
            ),
            "l": st.none()
            | st.lists(st.none() | st.fixed_dictionaries({"x": nullable_int}), max_size=3),
            "m": st.none()
            | st.dictionaries(
                st.text(max_size=2),
                st.none()
                | st.fixed_dictionaries({"x": st.none() | st.lists(nullable_int, max_size=2)}),
                max_size=2,
            ).map(lambda entries: list(entries.items())),
        }
    ),
    min_size=1,
    max_size=12,
)
ARROW = pa.schema(
    [
        ("i", pa.int32()),
        ("s", pa.struct([("x", pa.int64()), ("y", pa.struct([("z", pa.string())]))])),
        ("l", pa.list_(pa.struct([("x", pa.int32())]))),
        ("m", pa.map_(pa.string(), pa.struct([("x", pa.list_(pa.int32()))]))),
    ]
)


@settings(max_examples=settings().max_examples, deadline=None)
@given(rows, st.integers(0, 3))
def test_rows_come_back_from_a_file(values: list[dict], skipped: int) -> None:  # type: ignore[type-arg]
    batch = pa.RecordBatch.from_pylist(values, schema=ARROW).slice(skipped)
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "f")
        with EventWriter(path, NESTED) as writer:
            writer.write_inserts(batch, 1, P0)
            writer.write_inserts(batch, 2, P0)
        read = [event["row"] for event in read_events(path).to_pylist()]
    assert read == batch.to_pylist() * 2
