"""Memory, cores and a folder: one setting, from the environment or for a while."""

import os
import threading

import pytest

import evenhand as eh
from evenhand.resources import current, free_memory, heed, heeding, in_blocks, in_bytes


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("EVENHAND_MEMORY", "EVENHAND_THREADS", "EVENHAND_SPILL", "EVENHAND_UNPACKED"):
        monkeypatch.delenv(name, raising=False)


def test_for_a_while_and_only_there():
    usual = current()
    with eh.using(memory="2GB"):
        with eh.using(threads=1):
            assert (current().memory, current().threads) == (2 * 10**9, 1)
        assert current().threads == usual.threads
        with pytest.raises(RuntimeError), eh.using(memory="3GB"):
            raise RuntimeError
        assert current().memory == 2 * 10**9
        # Another thread has settings of its own.
        seen = []
        other = threading.Thread(target=lambda: seen.append(current()))
        other.start()
        other.join()
        assert seen == [usual]
    assert current() == usual


def test_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_MEMORY", "300 MiB")
    monkeypatch.setenv("EVENHAND_THREADS", "3")
    monkeypatch.setenv("EVENHAND_SPILL", str(tmp_path))
    assert (current().memory, current().threads, current().folder("elsewhere/out.csv")) == (
        300 * 2**20, 3, str(tmp_path),
    )  # fmt: skip
    with eh.using(memory=10**9):
        assert (current().memory, current().threads) == (10**9, 3)


def test_what_does_not_fit_goes_beside_the_result(tmp_path):
    assert current().folder(str(tmp_path / "out.csv")) == str(tmp_path.resolve())
    assert os.path.isdir(current().folder())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": "lots"}, "must look like 512MB or 2GB, not 'lots'"),
        ({"memory": "2XB"}, "must look like"),
        ({"memory": "-1GB"}, "must look like"),
        ({"memory": "10MB"}, "from 64MB to 1000TB, not 10MB"),
        ({"memory": 1000}, "from 64MB"),
        ({"threads": 0}, "at least 1, not 0"),
        ({"threads": 99_999}, "at most 256, not 99999"),
        ({"memory": "99999999TB"}, "from 64MB to 1000TB"),
        ({"spill": 3}, "spill must be a folder"),
        ({"unpacked": "big"}, "unpacked must look like 512MB or 2GB, not 'big'"),
        ({"unpacked": 0}, "unpacked must be a whole number of at least 1"),
        ({"threads": 1.5}, "whole number"),
        ({"threads": True}, "whole number"),
        ({"spill": "no/such/folder"}, "a folder that exists"),
    ],
    ids=str,
)
def test_wrong_settings(settings, words):
    with pytest.raises(eh.SpecError, match=words), eh.using(**settings):
        pass


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": "9" * 400}, "from 64MB to 1000TB$"),
        ({"memory": "9" * 5000 + "TB"}, "from 64MB to 1000TB$"),
        ({"memory": 10**400}, "must be a number that a computer can hold"),
        ({"threads": 10**5000}, "must be a number that a computer can hold"),
        ({"spill": "x" * 5000}, "must be a folder that exists"),
    ],
)
def test_settings_of_thousands_of_digits(settings, words):
    test_wrong_settings(settings, words)


def test_an_environment_of_thousands_of_digits(monkeypatch):
    for name in ("MEMORY", "THREADS", "SPILL"):
        with monkeypatch.context() as patched:
            patched.setenv(f"EVENHAND_{name}", "9" * 5000)
            with pytest.raises(eh.SpecError, match=f"{name.lower()} must"):
                current()


@pytest.mark.parametrize(
    ("name", "value"), [("MEMORY", "much"), ("THREADS", "two"), ("THREADS", "0"), ("SPILL", "no"), ("UNPACKED", "x")]
)
def test_a_wrong_environment_is_named(monkeypatch, name, value):
    monkeypatch.setenv(f"EVENHAND_{name}", value)
    with pytest.raises(eh.SpecError, match=f"{name.lower()} must .*EVENHAND_{name}"):
        current()


@pytest.mark.parametrize(("text", "size"), [("64MB", 64e6), ("1.5 gb", 1.5e9), ("2GiB", 2**31), ("7", 7), ("1t", 1e12)])
def test_sizes(text, size):
    assert in_bytes(text) == size


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_cover_every_row_once(threads):
    seen = [0] * 10
    with eh.using(threads=threads):
        in_blocks(10, lambda block: seen.__setitem__(block, [n + 1 for n in seen[block]]), 4)
    assert seen == [1] * 10


def told(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return free_memory(root)


MACHINE = "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n"


class TestFreeMemory:
    def test_of_the_machine(self, tmp_path):
        assert told(tmp_path, proc__meminfo=MACHINE) == 4_000_000 * 1024

    def test_a_system_that_does_not_tell(self, tmp_path):
        assert told(tmp_path) is None

    @pytest.mark.parametrize("where", ["job", "job/step", ""])
    def test_of_a_control_group_of_version_2(self, tmp_path, where):
        """The group itself, one above it, or in a container the root of what is mounted."""
        group = tmp_path / "sys/fs/cgroup" / where
        group.mkdir(parents=True)
        (group / "memory.max").write_text("1000000000\n")
        (group / "memory.current").write_text("700000000\n")
        (group / "memory.stat").write_text("anon 1\ninactive_file 200000000\n")
        assert told(tmp_path, proc__meminfo=MACHINE, proc__self__cgroup="0::/job/step\n") == 500_000_000

    def test_of_a_control_group_of_version_1(self, tmp_path):
        group = tmp_path / "sys/fs/cgroup/memory/docker/a"
        group.mkdir(parents=True)
        (group / "memory.limit_in_bytes").write_text("1000000000")
        (group / "memory.usage_in_bytes").write_text("1200000000")
        lines = "5:cpu:/docker/a\n4:memory:/docker/a\n"
        assert told(tmp_path, proc__meminfo=MACHINE, proc__self__cgroup=lines) == 0

    def test_a_group_without_a_limit(self, tmp_path):
        group = tmp_path / "sys/fs/cgroup"
        group.mkdir(parents=True)
        (group / "memory.max").write_text("max\n")
        (group / "memory.current").write_text("5\n")
        assert told(tmp_path, proc__meminfo=MACHINE, proc__self__cgroup="0::/\n") == 4_000_000 * 1024

    def test_of_this_machine(self):
        assert free_memory() is None or free_memory() > 10_000_000


def test_work_heeds_whoever_may_stop_it():
    heed()
    calls = []
    with heeding(lambda: calls.append("outer")):
        heed()
        with heeding(lambda: calls.append("inner")):
            heed()
        heed()
    heed()
    assert calls == ["outer", "inner", "outer"]
