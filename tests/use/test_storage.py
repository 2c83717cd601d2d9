"""The mapping file: intact ones load, anything else is a StorageError."""

import json

import numpy as np
import pytest
import safetensors.numpy
from families import small_frame, small_problem
from formulations import BUDGETS, DISTORTIONS, MODES, PARITIES, table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import people, problem

import evenhand as eh
from evenhand.use import storage


@pytest.fixture(scope="module")
def mapping():
    return eh.fit(small_problem(), small_frame())


@pytest.fixture
def path(mapping, tmp_path):
    mapping.save(tmp_path / "m.mapping")
    return tmp_path / "m.mapping"


def rewrite(path, change_document=None, change_arrays=None, seal=True):
    """Write a file whose checksum is right but whose content was changed: what a hostile hand could do."""
    content = path.read_bytes()
    document, arrays = storage._open(content)
    document.pop("sha256")
    if change_document:
        change_document(document)
    if change_arrays:
        change_arrays(arrays)
    digest = storage._digest(document, arrays) if seal else "0" * 64
    text = json.dumps(document | {"sha256": digest})
    path.write_bytes(safetensors.numpy.save(arrays, metadata={"evenhand": text}))


def test_round_trip(mapping, path, compas_mapping, adult_mapping, tmp_path):
    for saved in (mapping, compas_mapping, adult_mapping):
        saved.save(path)
        loaded = eh.Mapping.load(path)
        assert loaded.problem == saved.problem
        assert loaded.counts.domain == saved.counts.domain
        assert loaded.certificate == saved.certificate
        for field in ("starts", "targets", "probability"):
            assert np.array_equal(getattr(loaded.kernel, field), getattr(saved.kernel, field))
        assert loaded.table().equals(saved.table())
    assert [p.name for p in tmp_path.iterdir()] == ["m.mapping"]


def test_draws_survive_the_file(mapping, path):
    assert eh.Mapping.load(path).release(small_frame(), seed=9).equals(mapping.release(small_frame(), seed=9))


def test_saving_twice_gives_the_same_bytes(mapping, path, tmp_path):
    mapping.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_truncation_anywhere_is_refused(path):
    content = path.read_bytes()
    for size in [0, 1, 7, 8, 20, *range(40, len(content), max(1, len(content) // 97)), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(eh.StorageError):
            eh.Mapping.load(path)


@given(position=st.integers(0, 10**9), bit=st.integers(0, 7))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_flipped_bit_is_refused_or_harmless(path, position, bit):
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << bit
    flipped = path.with_suffix(".flipped")
    flipped.write_bytes(content)
    try:
        loaded = eh.Mapping.load(flipped)
    except eh.StorageError:
        return
    # The header is padded with spaces, where a flip may go unnoticed: then nothing else may differ.
    assert loaded.table().equals(eh.Mapping.load(path).table())
    assert loaded.problem == eh.Mapping.load(path).problem


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04K\x01.", b"\xff" * 8 + b"{}", b"PK\x03\x04" + b"0" * 90])
def test_foreign_files(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(eh.StorageError):
        eh.Mapping.load(tmp_path / "x")


def test_a_foreign_safetensors_file(tmp_path):
    (tmp_path / "x").write_bytes(safetensors.numpy.save({"a": np.zeros(3)}))
    with pytest.raises(eh.StorageError, match="not an evenhand mapping"):
        eh.Mapping.load(tmp_path / "x")


def test_a_huge_declared_size_allocates_nothing(tmp_path):
    header = json.dumps({"counts.d": {"dtype": "I64", "shape": [2**40], "data_offsets": [0, 2**43]}}).encode()
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 64)
    with pytest.raises(eh.StorageError):
        eh.Mapping.load(tmp_path / "x")


def test_a_newer_format_says_so(path):
    rewrite(path, lambda d: d.update(version=storage.VERSION + 1, needs=storage.VERSION + 1))
    with pytest.raises(eh.StorageError, match="newer evenhand"):
        eh.Mapping.load(path)


def test_a_wrong_checksum_says_so(path):
    rewrite(path, seal=False)
    with pytest.raises(eh.StorageError, match="damaged or altered"):
        eh.Mapping.load(path)


HOSTILE_ARRAYS = {
    "a forbidden probability": lambda a: a["kernel.probability"].__setitem__(0, -0.5),
    "a row beyond one": lambda a: a["kernel.probability"].__setitem__(0, 1.5),
    "not a number": lambda a: a["multipliers.released"].__setitem__(0, np.nan),
    "a target far away": lambda a: a["kernel.targets"].__setitem__(0, 10**12),
    "a negative target": lambda a: a["kernel.targets"].__setitem__(0, -1),
    "a source far away": lambda a: a["counts.x"].__setitem__(-1, 10**6),
    "a negative weight": lambda a: a["counts.weight"].__setitem__(0, -3.0),
    "rows that go back": lambda a: a["kernel.starts"].__setitem__(1, 10**6),
    "lengths that differ": lambda a: a.update({"counts.y": a["counts.y"][:-1]}),
    "too few multipliers": lambda a: a.update({"multipliers.parity": a["multipliers.parity"][:-1]}),
    "nothing at all": lambda a: a.update({name: array[:0] for name, array in a.items()}),
    "another type": lambda a: a.update({"counts.d": a["counts.d"].astype(np.float32)}),
    "two dimensions": lambda a: a.update({"counts.d": a["counts.d"].reshape(1, -1)}),
    "a missing array": lambda a: a.pop("kernel.starts"),
}


@pytest.mark.parametrize("what", HOSTILE_ARRAYS)
def test_hostile_arrays_with_a_right_checksum(path, what):
    rewrite(path, change_arrays=HOSTILE_ARRAYS[what])
    with pytest.raises(eh.StorageError):
        eh.Mapping.load(path)


HOSTILE_DOCUMENTS = {
    "no problem": lambda d: d.pop("problem"),
    "broken TOML": lambda d: d.update(problem="protected = ["),
    "another outcome": lambda d: d.update(problem=d["problem"].replace('outcome = "hired"', 'outcome = "fired"')),
    "a domain of nothing": lambda d: d.update(domain=[]),
    "a domain of numbers": lambda d: d.update(domain=[1, 2]),
    "an unknown role": lambda d: d["domain"][0].update(role="judge"),
    "levels that are lists": lambda d: d["domain"][0].update(levels=[[1], [2]]),
    "an endless domain": lambda d: d["domain"][1].update(levels=list(range(5)) * 2),
    "version zero": lambda d: d.update(version=0),
    "version text": lambda d: d.update(version="1"),
    "claims of text": lambda d: d.update(claims="optimal"),
    "people of text": lambda d: d.update(people="many"),
}


@pytest.mark.parametrize("what", HOSTILE_DOCUMENTS)
def test_hostile_documents_with_a_right_checksum(path, what):
    rewrite(path, change_document=HOSTILE_DOCUMENTS[what])
    with pytest.raises(eh.StorageError):
        eh.Mapping.load(path)


def test_a_kernel_that_breaks_its_bounds_is_not_loaded(path):
    """The checksum is right, the rows are distributions, but the bounds do not hold."""

    def stay(arrays):
        size = len(arrays["counts.d"])
        arrays["kernel.starts"] = np.arange(size + 1)
        arrays["kernel.targets"] = arrays["counts.x"] * 2 + arrays["counts.y"]
        arrays["kernel.probability"] = np.ones(size)

    rewrite(path, change_arrays=stay)
    with pytest.raises(eh.StorageError, match="does not stand"):
        eh.Mapping.load(path)


def test_reading_what_is_not_there(tmp_path):
    with pytest.raises(eh.StorageError, match="No such file"):
        eh.Mapping.load(tmp_path / "nowhere")
    with pytest.raises(eh.StorageError):
        eh.Mapping.load(tmp_path)


def test_writing_where_one_cannot(mapping, tmp_path):
    with pytest.raises(eh.StorageError, match="cannot write"):
        mapping.save(tmp_path / "no" / "folder" / "m")
    (tmp_path / "taken").mkdir()
    with pytest.raises(eh.StorageError, match="cannot write"):
        mapping.save(tmp_path / "taken")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_failed_write_leaves_the_old_file(mapping, path, monkeypatch):
    old = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "replace", fail)
    with pytest.raises(eh.StorageError, match="No space left"):
        mapping.save(path)
    assert path.read_bytes() == old
    assert [p.name for p in path.parent.iterdir()] == ["m.mapping"]


# ---------------------------------------------------------------------------------------------------------------------
# Every mode survives the file
# ---------------------------------------------------------------------------------------------------------------------


SQUARES = eh.Separable(
    lambda p, r: (r - p) ** 2, lambda p, r: 2 * (r - p), lambda p, r: np.full_like(p, 2.0), name="squares"
)
BREGMAN = eh.Bregman(lambda t: t**2, lambda t: 2 * t, lambda t: np.full_like(t, 2.0))
LARGEST_RISE = eh.Quasiconvex(lambda p, r: np.max(r - p), lambda p, level: (np.eye(len(p)), p + level))


def plain(parity=None, *, outcome="falls", mode="plain", **changes):
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": parity or [eh.PairwiseParity(0.4)],
        "distortion": DISTORTIONS["sum"](outcome),
        "budget": eh.ExpectedDistortion(0.6),
        **MODES[mode],
    }
    return eh.Problem(**{**statement, **changes})


RELATIVE = eh.UserDistance(lambda p, q: np.abs(p - q) / (p + q + 0.1), "the relative gap")
MODES_TO_KEEP = {
    "blind": plain([eh.PairwiseParity(0.6)], mode="blind"),
    "suppressed": plain([eh.PairwiseParity(0.1)], mode="suppressed", outcome="is free"),
    "suppressed, blind": plain([eh.PairwiseParity(0.3)], mode="suppressed, blind", outcome="is free"),
    "own model": plain([eh.PairwiseParity(0.15)], mode="own model", outcome="is free"),
    "alternating": plain(
        [eh.PairwiseParity(0.1)], mode="suppressed", outcome="is free", suppress_protected="alternating"
    ),
    "a user's measure": plain(utility=SQUARES),
    "a user's Bregman divergence": plain(utility=BREGMAN),
    "a user's quasiconvex measure": plain(utility=LARGEST_RISE),
    "a user's distance": plain([eh.PairwiseParity(0.15, RELATIVE)]),
    "a user's distance to a target": plain(
        [eh.TargetParity(0.05, {0: 0.6, 1: 0.4}, RELATIVE, on=["sex"])], outcome="changes"
    ),
    "a user's distortion": plain(distortion=DISTORTIONS["function"]("falls")),
    "released segments": plain(PARITIES["released segments"](0.6)),
    "target by segment": plain(PARITIES["target in segments"](0.3), outcome="changes"),
    "By everywhere": plain(PARITIES["by pair"](0.3), budget=BUDGETS["by cell"](), targets="all"),
    "several budgets": plain(budget=BUDGETS["both"]()),
    "limits of zero": plain([eh.PairwiseParity(0.8)], budget=BUDGETS["zero for some"]()),
}


@pytest.mark.slow(keep=11)
@pytest.mark.parametrize("name", MODES_TO_KEEP)
def test_every_mode_survives_the_file(name, tmp_path):
    mapping = eh.fit(MODES_TO_KEEP[name], table(3))
    mapping.save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m")
    assert loaded.certificate == mapping.certificate
    assert loaded.table().equals(mapping.table())
    assert loaded.table("apply").equals(mapping.table("apply"))
    assert loaded.release(table(3), seed=2).equals(mapping.release(table(3), seed=2))
    assert loaded.audit().bounds.equals(mapping.audit().bounds)
    if loaded.has_prices:
        assert loaded.prices().frame.equals(mapping.prices().frame)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_the_history_of_an_alternating_minimisation_is_kept(tmp_path):
    mapping = eh.fit(MODES_TO_KEEP["alternating"], table(3))
    assert len(mapping.certificate.history) >= 2
    mapping.save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m").certificate
    assert loaded.history == mapping.certificate.history
    assert loaded.notes == mapping.certificate.notes
    assert np.allclose(eh.Mapping.load(tmp_path / "m").conditional, mapping.conditional, atol=1e-12)


def test_a_users_measure_is_recorded_and_cannot_be_fitted_again(tmp_path):
    """A file holds no code: what the function said of this mapping is kept, and no more."""
    eh.fit(MODES_TO_KEEP["a user's measure"], table(3)).save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m")
    assert loaded.problem.utility.name == "squares"
    with pytest.raises(eh.SpecError, match="'squares' was a user's function and is only recorded here"):
        eh.fit(loaded.problem, table(3))


class TestCodings:
    """How values become levels is kept too: with bins, merged levels and missing values."""

    @pytest.fixture(scope="class")
    @classmethod
    def coded(cls):
        bins = {**problem().bins, "job": eh.PooledLevels(200)}
        return eh.fit(problem(bins=bins, utility=eh.KL()), people())

    @pytest.fixture
    def kept(self, coded, tmp_path):
        coded.save(tmp_path / "coded.mapping")
        return tmp_path / "coded.mapping"

    def test_round_trip(self, coded, kept):
        loaded = eh.Mapping.load(kept)
        assert loaded.counts.domain == coded.counts.domain
        assert loaded.problem == coded.problem
        assert loaded.release(people(), key="id").equals(coded.release(people(), key="id"))

    def test_only_files_with_codings_need_version_2(self, kept, path):
        assert [storage._open(file.read_bytes())[0]["needs"] for file in (kept, path)] == [2, 1]

    def test_what_a_newer_version_may_add_is_ignored(self, coded, kept):
        def add(document):
            document.update(version=9, colour="blue")
            document["domain"][0]["unit"] = "years"

        rewrite(kept, add, lambda arrays: arrays.update(extra=np.arange(7.0), flags=np.ones(3, dtype=np.int8)))
        assert eh.Mapping.load(kept).table().equals(coded.table())

    def test_what_a_newer_version_added_is_part_of_the_checksum(self, kept):
        rewrite(kept, None, lambda arrays: arrays.update(extra=np.arange(7.0)))
        content = bytearray(kept.read_bytes())
        at = content.find(np.arange(7.0).tobytes())
        content[at + 20] ^= 1
        kept.write_bytes(content)
        with pytest.raises(eh.StorageError, match="damaged or altered"):
            eh.Mapping.load(kept)

    @pytest.mark.parametrize(
        "change",
        {
            "edges fall": lambda v: v["coding"].update(edges=[60.0, 45.0, 30.0]),
            "edges lack one": lambda v: v["coding"].update(edges=[30.0, 45.0]),
            "an edge is no number": lambda v: v["coding"].update(edges=[30.0, "x", 60.0]),
            "an edge is infinite": lambda v: v["coding"].update(edges=[30.0, 45.0, float("inf")]),
            "no stock": lambda v: v["coding"].update(stock=[]),
            "stock of another length": lambda v: v["coding"]["stock"][0].update(weights=[]),
            "stock of negative weight": lambda v: v["coding"]["stock"][0]["weights"].__setitem__(0, -1.0),
            "another kind": lambda v: v["coding"].update(kind="code"),
            "no kind": lambda v: v["coding"].pop("kind"),
            "coding is text": lambda v: v.update(coding="cuts"),
            "missing beyond the levels": lambda v: v.update(missing=17),
            "missing is text": lambda v: v.update(missing="yes"),
            "blanks are a number": lambda v: v.update(blanks=3),
        }.items(),
        ids=lambda change: change[0],
    )
    def test_hostile_codings_with_a_right_checksum(self, kept, change):
        rewrite(kept, lambda document: change[1](document["domain"][1]))
        with pytest.raises(eh.StorageError):
            eh.Mapping.load(kept)

    def test_hostile_merges(self, kept):
        for change in ({"rest": 99}, {"rest": "x"}, {"members": []}, {"members": 5}):
            rewrite(kept, lambda document, change=change: document["domain"][3]["coding"].update(change))
            with pytest.raises(eh.StorageError):
                eh.Mapping.load(kept)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(document, at=()):
    """Every place in a JSON document."""
    yield at
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from places(value, (*at, key))


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_value_anywhere_in_the_document_is_refused_or_sound(tmp_path, data):
    """The checksum is right, and the document says something else at one place: an error of ours, or a mapping."""
    file = tmp_path / "m.mapping"
    if not file.exists():
        eh.fit(problem(), people(200)).save(file)
    original = file.read_bytes()
    document, _ = storage._open(original)
    document.pop("sha256")
    place = data.draw(st.sampled_from([at for at in places(document) if at]))
    value = data.draw(JSON)

    def change(found):
        for key in place[:-1]:
            found = found[key]
        found[place[-1]] = value

    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return  # no file can say this
    try:
        rewrite(file, change)
        loaded = eh.Mapping.load(file)
    except eh.EvenhandError:
        return
    finally:
        file.write_bytes(original)
    assert len(loaded.table()) > 0
