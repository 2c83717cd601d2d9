"""Files appear whole or not at all."""

import os

import pytest

import evenhand as eh
from evenhand.files import replace_file, replacing


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    for content in (b"one", b"two"):
        replace_file(path, content)
        assert path.read_bytes() == content
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with replacing(path) as temporary:
            with open(temporary, "w") as file:
                file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(eh.StorageError, match="cannot write into"):
        replace_file(tmp_path / "no" / "a.txt", b"")
