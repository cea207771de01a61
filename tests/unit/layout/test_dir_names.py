import pytest

from acidsql.layout.dir_names import (
    FIRST_BASE_WRITE_ID,
    BaseDir,
    BucketFile,
    DeltaDir,
    OriginalFile,
    is_hidden,
    parse_base,
    parse_bucket_file,
    parse_delta,
    parse_directory,
    parse_original_file,
)


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("base_0000005", BaseDir(5)),
        ("base_5", BaseDir(5)),
        ("base_0000005_v0000020", BaseDir(5, 20)),
        ("base_10000001", BaseDir(10000001)),
        ("base_-9223372036854775808", BaseDir(FIRST_BASE_WRITE_ID)),
        ("delta_0000001_0000001_0000", DeltaDir(1, 1, 0)),
        ("delta_1_3", DeltaDir(1, 3)),
        ("delta_0000001_0000003_v0000021", DeltaDir(1, 3, None, False, 21)),
        ("delta_0000005_0000005_0002_v0000007", DeltaDir(5, 5, 2, False, 7)),
        ("delete_delta_0000003_0000003_0001", DeltaDir(3, 3, 1, True)),
        ("delete_delta_0000001_0000003", DeltaDir(1, 3, None, True)),
    ],
)
def test_directories_parse(name: str, directory: BaseDir | DeltaDir) -> None:
    assert parse_directory(name) == directory


@pytest.mark.parametrize(
    "name",
    [
        "base_",
        "base_x",
        "base_-1",
        "base_5_7",
        "base_5_v",
        "base_5_v7_",
        "base_9223372036854775808",
        "base_٣",
        "delta_1",
        "delta_1_",
        "delta_2_1",
        "delta_1_1_0_0",
        "delta_1_1_x",
        "delta_-1_1",
        "delta_1_99999999999999999999",
        "delete_base_1",
        "_delta_1_1_0",
        "HIVE_UNION_SUBDIR_1",
        "",
        "delta_1_1_0\n",
    ],
)
def test_anything_else_is_no_directory(name: str) -> None:
    assert parse_base(name) is None
    assert parse_delta(name) is None


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        (BaseDir(5), "base_0000005"),
        (BaseDir(12345678, 9), "base_12345678_v0000009"),
        (BaseDir(FIRST_BASE_WRITE_ID), "base_-9223372036854775808"),
        (DeltaDir(1, 1, 0), "delta_0000001_0000001_0000"),
        (DeltaDir(1, 5, None, True, 30), "delete_delta_0000001_0000005_v0000030"),
    ],
)
def test_names_are_padded(directory: BaseDir | DeltaDir, name: str) -> None:
    assert directory.name == name


def test_files() -> None:
    assert parse_bucket_file("bucket_00007") == BucketFile(7)
    assert parse_bucket_file("bucket_00007_3") == BucketFile(7, 3)
    assert parse_bucket_file("bucket_00000_flush_length") is None
    assert parse_bucket_file("bucket_") is None
    assert parse_original_file("000001_0") == OriginalFile(1, 0)
    assert parse_original_file("000001_0_copy_12") == OriginalFile(1, 0, 12)
    assert parse_original_file("000001") is None
    assert parse_original_file("part-00000.orc") is None


def test_hidden_names() -> None:
    assert is_hidden("_orc_acid_version")
    assert is_hidden(".hive-staging")
    assert not is_hidden("delta_1_1_0")
