import pytest

from acidsql.layout.history import history
from acidsql.layout.listing import ListedFile


def of(*paths):
    return history([ListedFile(path, 9) for path in paths])


@pytest.mark.parametrize(
    ("paths", "highest"),
    [
        ((), 0),
        (("base_5/bucket_00000", "delta_3_4/bucket_00000"), 5),
        (("delete_delta_0000007_0000009_0001/bucket_00000_0",), 9),
        (("d=1/k=2/delta_4_4/_orc_acid_version",), 4),
        (("base_-9223372036854775808/bucket_00000",), 0),
        (("000000_0", "delta_10000001_10000001_0000/bucket_00000"), 10_000_001),
        (("000000_0",), 10_000_000),
        ((".hive-staging/delta_9_9/bucket_00000", "_tmp.base_7/x"), 0),
        (("base_3/delta_9_9/bucket_00000",), 3),
    ],
)
def test_the_highest_write_id(paths, highest):
    assert of(*paths).highest_write_id == highest


def test_the_compactors():
    past = of("base_3_v0000012/bucket_00000", "delta_4_5_v0000020/bucket_00000", "delta_6_6/x")
    assert past.visibility_ids == {12, 20}


def test_files_outside_of_directories():
    past = of("000001_0_copy_2", "part-0.orc", "_SUCCESS", "p=1/000002_0", "delta_1_1/odd")
    assert past.originals == ("000001_0_copy_2", "p=1/000002_0")
    assert past.strange == ("part-0.orc",)
    assert past.buckets == {1, 2}


def test_what_only_hidden_files_hold_is_empty():
    assert of("_SUCCESS", ".part/000000_0").is_empty
    assert not of("delta_1_1/_orc_acid_version").is_empty
