"""The history of batches: one line each, nothing lost, nothing half-written, nobody else's."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.findings.document import signed


@pytest.fixture(scope="module")
def mapping():
    return shared_fit(small_problem(), small_frame())


@pytest.fixture(scope="module")
def other():
    return eh.fit(small_problem(parity=[eh.PairwiseParity(0.25)]), small_frame())


def batch(seed, number=120):
    return small_frame().sample(number, random_state=seed)


@pytest.fixture
def log(mapping, tmp_path):
    path = tmp_path / "log.jsonl"
    for seed in range(3):
        mapping.monitor(batch(seed), history=path, name=f"week {seed}")
    return path


def test_what_was_found_is_what_is_read(mapping, tmp_path):
    path = tmp_path / "log.jsonl"
    assert len(mapping.history(path)) == 0
    assert not path.exists()
    found = [
        mapping.monitor(batch(1), history=path),
        mapping.monitor(batch(2).drop(columns="hired"), history=path, name="no outcomes"),
        mapping.monitor(small_frame(), history=path, confidence=0.9),
    ]
    history = mapping.history(path)
    assert len(history) == 3
    assert history.batches["people"].tolist() == [120, 120, 200]
    assert history.batches["fitted"].tolist() == [False, False, True]
    assert history.batches["outcomes"].tolist() == [True, False, True]
    assert history.batches["confidence"].tolist() == [0.95, 0.95, 0.9]
    assert history.batches["name"].tolist()[1] == "no outcomes"
    for number, each in enumerate(found, 1):
        drift, bounds = (part[part["batch"] == number] for part in (history.drift, history.bounds))
        for name in ("apart", "limit", "chance", "drifted"):
            assert drift[name].tolist() == pytest.approx(each.drift[name].tolist(), nan_ok=True)
        for name in ("bound", "low", "high", "value", "expected"):
            assert bounds[name].tolist() == pytest.approx(each.bounds[name].tolist(), nan_ok=True)
        assert bounds["verdict"].tolist() == each.bounds["verdict"].tolist()


def test_it_shows_every_batch(mapping, log):
    history = mapping.history(log)
    shown = str(history)
    assert all(name in shown for name in ("week 0", "week 1", "week 2", "not decided", "log.jsonl"))
    told = json.loads(history.to_json())["batches"]
    assert [row["people"] for row in told["batches"]] == [120, 120, 120]
    assert [row["apart"] for row in told["drift"]] == pytest.approx(history.drift["apart"].tolist())
    assert len(told["bounds"]) == len(history.bounds)
    assert "<table>" in history._repr_html_()


def test_an_infinite_end_is_kept(mapping, tmp_path):
    path = tmp_path / "log.jsonl"
    frame = batch(3)
    found = mapping.monitor(frame.assign(hired=(frame["group"] == "a").astype(int)), history=path)
    assert np.isinf(found.bounds["high"]).any()
    assert mapping.history(path).bounds["high"].tolist() == found.bounds["high"].tolist()


def test_it_is_the_same_mapping_when_it_was_saved_and_read(mapping, log, tmp_path):
    mapping.save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m")
    loaded.monitor(batch(4), history=log)
    assert len(mapping.history(log)) == 4


def test_a_history_of_another_mapping_is_refused_and_stays_as_it_is(other, log):
    before = log.read_bytes()
    with pytest.raises(eh.StorageError, match=r"history of another mapping \(line 1\); nothing was added"):
        other.monitor(batch(1), history=log)
    with pytest.raises(eh.StorageError, match="another mapping"):
        other.history(log)
    assert log.read_bytes() == before


def cut(text):
    return text[:-40]


def digit(text):
    lines = text.splitlines()
    lines[1] = lines[1].replace('"people": 120', '"people": 121')
    return "\n".join(lines)


def signed_nonsense(text):
    entry = json.loads(text.splitlines()[1])
    entry["drift"] = [{"what": "column"}]
    return f"{text}{json.dumps(signed(entry))}\n"


def signed_number(text):
    entry = json.loads(text.splitlines()[1])
    entry["drift"][0]["apart"] = 10**400
    return f"{text}{json.dumps(signed(entry))}\n"


DAMAGED = {
    "a number too large": (signed_number, "line 4", "too large"),
    "cut off": (cut, "line 3", "no JSON"),
    "a digit": (digit, "line 2", "checksum"),
    "an empty line": (lambda text: text.replace("\n", "\n\n", 1), "line 2", "no JSON"),
    "something else": (lambda text: text + '{"a": 1}\n', "line 4", "no line that evenhand monitor wrote"),
    "a number": (lambda text: text + "17\n", "line 4", "no line that evenhand monitor wrote"),
    "signed nonsense": (signed_nonsense, "line 4", "name"),
    "deep": (lambda text: text + "[" * 100_000 + "\n", "line 4", ""),
}


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_line_is_named_and_nothing_is_changed(mapping, log, damage):
    change, *words = DAMAGED[damage]
    log.write_text(change(log.read_text()))
    before = log.read_bytes()
    with pytest.raises(eh.StorageError) as refused:
        mapping.monitor(batch(5), history=log)
    assert all(word in str(refused.value) for word in (*words, "damaged", "Nothing was added"))
    assert log.read_bytes() == before
    assert os.listdir(log.parent) == [log.name]


def test_of_a_newer_version(mapping, log):
    log.write_text(log.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(eh.StorageError, match="written by another evenhand"):
        mapping.history(log)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"not a history\n"])
def test_no_history(mapping, tmp_path, content):
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(eh.StorageError, match="log"):
        mapping.history(tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == content


def test_folders_are_refused(mapping, tmp_path):
    with pytest.raises(eh.StorageError, match="folder"):
        mapping.monitor(batch(0), history=tmp_path)
    with pytest.raises(eh.StorageError, match="no folder"):
        mapping.monitor(batch(0), history=tmp_path / "none" / "log.jsonl")


def test_a_last_line_without_an_end_is_a_line(mapping, log):
    log.write_text(log.read_text().rstrip("\n"))
    mapping.monitor(batch(6), history=log)
    assert len(mapping.history(log)) == 4


def test_mode_and_link_are_kept(mapping, log, tmp_path):
    log.chmod(0o600)
    link = tmp_path / "link.jsonl"
    link.symlink_to(log)
    mapping.monitor(batch(7), history=link)
    assert link.is_symlink()
    assert len(mapping.history(log)) == 4
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_batch_that_is_refused_adds_nothing(mapping, log):
    before = log.read_bytes()
    with pytest.raises(eh.DataError):
        mapping.monitor(small_frame().head(0), history=log)
    assert log.read_bytes() == before


@pytest.mark.slow
def test_threads_lose_nothing(mapping, tmp_path):
    path = tmp_path / "log.jsonl"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: mapping.monitor(batch(seed), history=path, name=str(seed)), range(12)))
    assert sorted(mapping.history(path).batches["name"], key=int) == [str(seed) for seed in range(12)]


@pytest.mark.slow
def test_processes_lose_nothing(mapping, tmp_path):
    path = tmp_path / "log.jsonl"
    mapping.save(tmp_path / "m")
    small_frame().to_csv(tmp_path / "people.csv", index=False)
    code = (
        "import sys, evenhand as eh, pandas as pd\n"
        "mapping, frame = eh.Mapping.load(sys.argv[1]), pd.read_csv(sys.argv[2])\n"
        "for at in range(8): mapping.monitor(frame.head(100 + at), history=sys.argv[3], name=f'{sys.argv[4]} {at}')\n"
    )
    given = [str(tmp_path / "m"), str(tmp_path / "people.csv"), str(path)]
    running = [subprocess.Popen([sys.executable, "-c", code, *given, name]) for name in "abc"]
    assert [each.wait() for each in running] == [0, 0, 0]
    assert sorted(mapping.history(path).batches["name"]) == [f"{name} {at}" for name in "abc" for at in range(8)]


@pytest.mark.slow
def test_the_chart(mapping, log, tmp_path):
    picture = mapping.history(log).chart()
    assert all(len(set(chart.table.values("batch"))) == 3 for chart in picture.charts)
    picture.save(tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    with pytest.raises(eh.StorageError, match="no batch"):
        mapping.history(tmp_path / "none.jsonl").chart()
