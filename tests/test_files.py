"""Files appear whole or not at all."""

import hashlib
import os
import signal
import socket
import stat
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand import files
from evenhand.files import content_of, replace_file, replacing, text_of, together


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


def written_together(folder, names, *, force=False, meanwhile=lambda: None):
    with together(force=force):
        for name in names:
            replace_file(folder / name, name.encode())
        meanwhile()


NAMES = ["a.csv", "b.json", "c.csv"]


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
@pytest.mark.parametrize("taken", NAMES)
def test_a_name_that_another_process_took_meanwhile_is_refused_and_none_of_the_files_is_left(
    tmp_path, monkeypatch, taken, links
):
    def refused(*_):
        raise PermissionError

    if not links:
        monkeypatch.setattr(os, "link", refused)
    theirs = tmp_path / taken
    with pytest.raises(eh.StorageError, match=f"{taken}' exists already; force=True overwrites"):
        written_together(tmp_path, NAMES, meanwhile=lambda: theirs.write_text("theirs"))
    assert os.listdir(tmp_path) == [taken]
    assert theirs.read_text() == "theirs"
    theirs.unlink()
    written_together(tmp_path, NAMES)
    assert sorted(os.listdir(tmp_path)) == NAMES


@pytest.mark.parametrize("error", [KeyboardInterrupt, eh.DataError])
def test_nothing_appears_of_files_that_wait_for_one_that_fails(tmp_path, error):
    (tmp_path / "b.json").write_text("old")

    def fail():
        assert os.listdir(tmp_path).count("a.csv") == 0
        assert Path(files.current_place(tmp_path / "a.csv")).read_text() == "a.csv"
        raise error

    with pytest.raises(error):
        written_together(tmp_path, NAMES, force=True, meanwhile=fail)
    assert os.listdir(tmp_path) == ["b.json"]
    assert (tmp_path / "b.json").read_text() == "old"


def test_what_was_replaced_comes_back_if_a_later_file_cannot_have_its_name(tmp_path):
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(eh.StorageError, match=r"cannot write .*c\.csv"):
        written_together(tmp_path, NAMES, force=True, meanwhile=(tmp_path / "c.csv").mkdir)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "c.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_come_between_two_names(tmp_path, monkeypatch, number):
    link, heard = os.link, []

    def interrupted(*names):
        link(*names)
        signal.raise_signal(number)

    def hear(signal_number, frame):
        heard.append(sorted(name for name in os.listdir(tmp_path) if not name.startswith(".")))

    monkeypatch.setattr(os, "link", interrupted)
    before = signal.signal(number, hear)
    try:
        written_together(tmp_path, NAMES)
    finally:
        signal.signal(number, before)
    assert heard == [NAMES] * len(NAMES)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(eh.StorageError, match="cannot write into"):
        replace_file(tmp_path / "no" / "a.txt", b"")


@pytest.mark.parametrize(
    ("name", "kind"), [("pipe", "a pipe"), ("link", "a pipe"), ("/dev/zero", "a device"), (".", "directory")]
)
def test_only_a_regular_file_is_read(tmp_path, name, kind):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(eh.StorageError, match=f"(?i){kind}"):
        content_of(tmp_path / name, "the file")


@pytest.mark.skipif(not os.path.exists("/proc/kmsg"), reason="a pseudo-file of Linux")
def test_a_file_of_the_kernel_that_never_ends_is_empty():
    with pytest.raises(eh.StorageError, match=r"the file '/proc/kmsg' is empty"):
        content_of("/proc/kmsg", "the file")


def test_a_file_is_read_as_far_as_asked(tmp_path):
    (tmp_path / "a").write_bytes(b"abc\xff")
    assert (content_of(tmp_path / "a", "the file", 2), content_of(tmp_path / "a", "the file")) == (b"ab", b"abc\xff")
    with pytest.raises(eh.StorageError, match=r"cannot read the list '.*a': it is not text in UTF-8"):
        text_of(tmp_path / "a", "the list")
    with pytest.raises(eh.StorageError, match=r"cannot read the list '.*none': No such file"):
        text_of(tmp_path / "none", "the list")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 1234, 4321)
    replace_file(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to a file that is not there yet"])
def test_a_link_is_followed(tmp_path, there):
    """What was written lies where the link points, and nothing beside the link."""
    here, away = tmp_path / "here", tmp_path / "away"
    here.mkdir()
    away.mkdir()
    if there:
        (away / "a.txt").write_text("old")
        (away / "a.txt").chmod(0o600)
    (here / "link").symlink_to("../away/a.txt")
    with replacing(here / "link") as temporary:
        assert os.path.dirname(os.path.dirname(temporary)) == str(away)
        with open(temporary, "w") as file:
            file.write("new")
    assert (here / "link").is_symlink()
    assert (away / "a.txt").read_text() == "new"
    assert not there or (away / "a.txt").stat().st_mode & 0o777 == 0o600
    assert (os.listdir(here), os.listdir(away)) == (["link"], ["a.txt"])


def _device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only the superuser makes devices")


def _socket(path):
    """A name that is bound stays when its socket is closed."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


MADE = {"a device": _device, "a pipe": os.mkfifo, "a socket": _socket, "a folder": os.mkdir}


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "behind a link"])
@pytest.mark.parametrize("kind", MADE)
def test_only_regular_files_are_replaced(tmp_path, kind, linked):
    MADE[kind](tmp_path / "out")
    before = os.lstat(tmp_path / "out")
    (tmp_path / "link").symlink_to("out")
    with pytest.raises(eh.StorageError, match=f"is {kind}"):
        replace_file(tmp_path / ("link" if linked else "out"), b"new")
    assert os.lstat(tmp_path / "out") == before
    assert sorted(os.listdir(tmp_path)) == ["link", "out"]


def test_names_that_no_file_can_have(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(eh.StorageError, match="symbolic links"):
        replace_file(tmp_path / "loop", b"new")
    with pytest.raises(eh.StorageError, match="too long"):
        replace_file(tmp_path / ("x" * 300), b"new")
    with pytest.raises(eh.SpecError, match="without a NUL"):
        replace_file(tmp_path / "a\0b", b"new")
    with pytest.raises(eh.SpecError, match="whole characters"):
        replace_file(tmp_path / "a\ud800b", b"new")
    (tmp_path / "file").write_text("old")
    with pytest.raises(eh.StorageError, match="Not a directory"):
        replace_file(tmp_path / "file" / "x", b"new")
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


def test_a_checksum_is_that_of_all_bytes_and_tells_how_far_it_is(tmp_path):
    content = np.random.default_rng(1).bytes(3 * files.PIECE + 17)
    (tmp_path / "large").write_bytes(content)
    heard = []
    assert files.sha256_of(tmp_path / "large", heard.append) == hashlib.sha256(content).hexdigest()
    assert heard == sorted(heard)
    assert (len(heard), heard[-1]) == (4, 1.0)
    (tmp_path / "empty").touch()
    assert files.sha256_of(tmp_path / "empty") == hashlib.sha256(b"").hexdigest()
    with pytest.raises(eh.StorageError, match="cannot read"):
        files.sha256_of(tmp_path / "none")
