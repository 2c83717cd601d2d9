"""The scripts of a page: bundled once, and kept where nobody else could have changed them."""

import os
import sys
from importlib.metadata import version

import pytest

from evenhand.report import scripts

NAME = f"vega-{version('vl-convert-python')}.js"


class Bundler:
    """Stands for vl-convert, and counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def javascript_bundle(self):
        self.asked += 1
        return 'const end = "</script>", sign = "é";'


@pytest.fixture
def bundler(monkeypatch):
    found = Bundler()
    monkeypatch.setattr(scripts, "drawing", lambda: found)
    return found


def bundled():
    """Ask as another process would."""
    scripts.bundle.cache_clear()
    try:
        return scripts.bundle()
    finally:
        scripts.bundle.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(scripts.CACHE, str(tmp_path / "kept" / "here"))
    return tmp_path / "kept" / "here"


def test_it_is_bundled_once_and_no_tag_ends_in_it(bundler, folder):
    assert bundled() == bundled() == 'const end = "<\\/script>", sign = "é";'
    assert bundler.asked == 1
    assert [path.name for path in folder.iterdir()] == [NAME]


@pytest.mark.parametrize("harm", [b"", b"x", b"no checksum\nalert(1)", b"\xff\n"])
def test_what_is_not_whole_is_bundled_anew(bundler, folder, harm):
    bundled()
    kept = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(kept[:-1] if harm == b"x" else harm)
    assert "sign" in bundled()
    assert bundler.asked == 2
    assert (folder / NAME).read_bytes() == kept


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no such modes here")
def test_what_others_could_have_written_is_not_believed(bundler, folder):
    bundled()
    (folder / NAME).chmod(0o666)
    bundled()
    assert bundler.asked == 2


def test_nothing_is_kept_where_that_is_asked_for_or_cannot_be(bundler, tmp_path, monkeypatch):
    monkeypatch.setenv(scripts.CACHE, "")
    bundled()
    (tmp_path / "file").touch()
    monkeypatch.setenv(scripts.CACHE, str(tmp_path / "file" / "below"))
    bundled()
    assert bundler.asked == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="another folder is usual there")
def test_the_usual_folder(tmp_path, monkeypatch):
    monkeypatch.delenv(scripts.CACHE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert scripts.cache_folder() == tmp_path / ".cache" / "evenhand"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert scripts.cache_folder() == tmp_path / "cache" / "evenhand"
