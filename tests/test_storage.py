"""The mapping file: intact ones load, anything else is a StorageError."""

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import safetensors.numpy
import typer
from families import small_frame, small_problem
from fits import shared_fit
from formulations import BUDGETS, DISTORTIONS, MODES, PARITIES, table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import people, problem
from wide import wide_frame, wide_problem

import evenhand as eh
from evenhand import storage
from evenhand.cli.exits import Exit
from evenhand.cli.mappings import verify
from evenhand.kernel.achieved import achieved


@pytest.fixture(scope="module")
def mapping():
    return shared_fit(small_problem(), small_frame())


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


@pytest.mark.slow
@given(position=st.integers(0, 10**9), bit=st.integers(0, 7))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@pytest.mark.parametrize("version", [0, 2, 4, "1", 1.0, True, None])
def test_another_format_version_is_refused_by_name(path, version):
    rewrite(path, lambda d: d.update(version=version))
    with pytest.raises(eh.StorageError, match=f"has format version {version!r}, and this evenhand reads version 1"):
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
    "an array too many": lambda a: a.update(extra=np.arange(7.0)),
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
    "claims of text": lambda d: d.update(claims="optimal"),
    "claims without notes": lambda d: d["claims"].pop("notes"),
    "an entry too many": lambda d: d.update(colour="blue"),
    "no word on who fitted it": lambda d: d.pop("fitted_by"),
    "a column without a word on missing values": lambda d: d["domain"][1].pop("missing"),
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
    with pytest.raises(eh.StorageError, match="is a folder"):
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


@pytest.mark.slow(keep=1)
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


@pytest.mark.slow
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


COLUMNS = {
    "truths": pd.Series([True, False] * 50),
    "nullable truths": pd.Series([True, False] * 50, dtype="boolean"),
    "small numbers": pd.Series([0, 200] * 50, dtype="uint8"),
    "nullable numbers": pd.Series([1, 2] * 50, dtype="Int64"),
    "numbers as texts": pd.Series(["1", "2"] * 50),
    "objects": pd.Series(["a", "b"] * 50, dtype=object),
    "texts of Arrow": pd.Series(["a", "b"] * 50, dtype="string[pyarrow]"),
    "ordered categories": pd.Series(pd.Categorical(["b", "a"] * 50, ["b", "a", "c"], ordered=True)),
    "categories of numbers": pd.Series([20, 10] * 50).astype("category"),
    "categories of truths": pd.Series([True, False] * 50).astype("category"),
    "missing numbers": pd.Series([1.0, None] * 50),
    "missing texts": pd.Series(["a", None] * 50),
    "nothing but missing": pd.Series([None] * 100),
    "missing moments": pd.Series(pd.to_datetime([None] * 100)),
    "missing reals": pd.Series([None] * 100, dtype="float64"),
    "a dictionary of Arrow": pd.Series(["a", "b"] * 50, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "objects of numbers": pd.Series([1, 2] * 50, dtype=object),
    "objects of truths": pd.Series([True, False] * 50, dtype=object),
    **{
        kind: pd.Series([0, 100] * 50, dtype=kind)
        for width in (8, 16, 32, 64)
        for name in ("int", "uint")
        for kind in (f"{name}{width}", f"{name.replace('i', 'I').replace('u', 'U')}{width}", f"{name}{width}[pyarrow]")
    },
    **{kind: pd.Series([True, None] * 50, dtype=kind) for kind in ("boolean", "bool[pyarrow]")},
    **{kind: pd.Series([1, None] * 50, dtype=kind) for kind in ("Int8", "Float64", "double[pyarrow]", "float32")},
    **{
        f"{kind}, some missing {some}": pd.Series(["a", None if some else "b"] * 50, dtype=kind)
        for kind in ("str", "string", "string[python]", "large_string[pyarrow]", "category")
        for some in (False, True)
    },
}


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("column", COLUMNS)
def test_columns_of_every_type_survive_the_file(column, library, tmp_path):
    frame = pd.DataFrame({"g": ["a", "b", "b", "a"] * 25, "x": COLUMNS[column], "y": [0, 1, 1, 1, 0] * 20})
    if library != "pandas":
        native = pa.Table.from_pandas(frame)
        frame = native if library == "pyarrow" else pl.from_arrow(native)
    stated = eh.Problem(
        protected=["g"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.5)], missing="level",
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    mapping = eh.fit(stated, frame)
    mapping.save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m")
    assert loaded.counts.domain == mapping.counts.domain
    assert loaded.table().equals(mapping.table())


@pytest.mark.parametrize("levels", [[0, 1], [False, True, "unknown"], [True, False]])
def test_levels_of_a_rule_that_are_not_of_the_columns_type(levels, tmp_path):
    frame = small_frame().assign(score=lambda f: f["score"] == 1)
    rules = {"score": eh.Ordinal(1, levels=levels), "hired": eh.Ordinal(1, up=False)}
    mapping = eh.fit(small_problem(distortion=eh.Distortion(rules)), frame)
    mapping.save(tmp_path / "m")
    loaded = eh.Mapping.load(tmp_path / "m")
    assert loaded.counts.domain == mapping.counts.domain
    assert loaded.table().equals(mapping.table())


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

    def test_a_favourable_outcome_that_the_table_does_not_have(self, mapping, tmp_path):
        path = tmp_path / "good.mapping"
        replace(mapping, problem=small_problem(favourable=1)).save(path)
        rewrite(path, lambda d: d.update(problem=d["problem"].replace("favourable = 1", "favourable = true")))
        with pytest.raises(eh.StorageError, match="none of which is the problem's favourable True"):
            eh.Mapping.load(path)

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
            "a tree is text": lambda v: v.update(tree="oak"),
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


@pytest.mark.slow
def test_hostile_profiles_of_learned_cells(tmp_path):
    mapping, kept = eh.fit(wide_problem(), wide_frame(3)), tmp_path / "m.mapping"
    place = mapping.counts.domain.variables.index(mapping.counts.domain.x.variables[0])
    changes = (
        lambda profiles: profiles.pop(),
        lambda profiles: profiles[0].pop("people"),
        lambda profiles: profiles[0]["people"].pop(),
        lambda profiles: profiles[0]["weight"].__setitem__(0, -1.0),
        lambda profiles: profiles[0]["squares"].__setitem__(0, "x"),
        lambda profiles: profiles[0].update(edges=[3.0, 1.0]),
        lambda profiles: profiles[0].update(edges=[True]),
        lambda profiles: profiles[0].update(people=[0.0] * len(profiles[0]["people"])),
        lambda profiles: profiles.__setitem__(0, "profile"),
    )
    for change in changes:
        mapping.save(kept)
        rewrite(kept, lambda document, change=change: change(document["domain"][place]["profiles"]))
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
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


# ---------------------------------------------------------------------------------------------------------------------
# Whoever writes a file can also write its checksum
# ---------------------------------------------------------------------------------------------------------------------


def weighed(frame):
    return frame.assign(w=np.random.default_rng(5).choice([0.001, 1.5, 1e6], len(frame)))


MERGED = eh.MergedLevels({"office": ["clerk", "übrig"], "kitchen": ["cook"]}, rest="all else")
ALTERED = {
    "plain": lambda: (small_problem(), small_frame(), None),
    # Its bounds are far, so that other weights keep them too.
    "loose": lambda: (
        small_problem(parity=[eh.PairwiseParity(5.0)], budget=eh.ExpectedDistortion(5)),
        small_frame(),
        None,
    ),
    "plain, weighed": lambda: (small_problem(), weighed(small_frame()), "w"),
    "bins and missing values": lambda: (problem(), people(300), None),
    "bins, weighed": lambda: (problem(), weighed(people(300)), "w"),
    "merged levels": lambda: (problem(bins={**problem().bins, "job": MERGED}), people(300), None),
    "pooled levels": lambda: (
        problem(bins={"age": eh.ChosenBins(4), "hours": eh.Quantiles(2), "job": eh.PooledLevels(40)}),
        people(300),
        None,
    ),
    "suppressed": lambda: (MODES_TO_KEEP["suppressed"], table(3), None),
    "alternating": lambda: (MODES_TO_KEEP["alternating"], table(3), None),
}
VALUES = [None, True, "x", "", -1, 0, 1, 2, 0.5, -0.5, 1e308, 10**30, float("nan"), float("inf"), [], {}, [1], {"a": 1}]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One file of each kind, made when it is asked for."""
    folder = tmp_path_factory.mktemp("originals")

    def made(name):
        path = folder / name
        if not path.exists():
            stated, frame, weights = ALTERED[name]()
            eh.fit(stated, frame, weights=weights).save(path)
        return path

    return made


def at(document, place):
    for key in place:
        document = document[key]
    return document


def altered_value(rng, value):
    """Something else in the place of a value: of another type, permuted, shortened, or a little off."""
    if isinstance(value, list) and len(value) > 1 and rng.random() < 0.5:
        order = rng.permutation(len(value))
        return [[value[i] for i in order], value[:-1], [*value, value[0]], value[1:] + value[:1]][rng.integers(4)]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return [value + 1, value * 2, -value, value - 1, value * (1 + 1e-4)][rng.integers(5)]
    return VALUES[rng.integers(len(VALUES))]


def alter_document(rng, document):
    """Change, delete or exchange something in the document."""
    # Kept values are most places; each part of the document is to be as likely as any other.
    every = [place for place in places(document) if place]
    depth = rng.integers(1, max(map(len, every)) + 1)
    chosen = [place for place in every if len(place) == depth]
    place = chosen[rng.integers(len(chosen))]
    parent, key = at(document, place[:-1]), place[-1]
    kind = rng.integers(4)
    if kind == 0 and isinstance(parent, dict):
        del parent[key]
    elif kind == 1 and place[0] == "domain" and len(place) > 2:
        # The same place in another column.
        other = document["domain"][rng.integers(len(document["domain"]))]
        try:
            there = at(other, place[2:-1])
            parent[key], there[key] = there[key], parent[key]
        except (KeyError, IndexError, TypeError):
            parent[key] = altered_value(rng, parent[key])
    elif key == "problem":
        lines = parent[key].split("\n")
        row = rng.integers(len(lines))
        changes = [lines[row].replace("1", "2"), lines[row].replace("true", "false"), "", lines[row].replace("3", "0")]
        parent[key] = "\n".join([*lines[:row], changes[rng.integers(4)], *lines[row + 1 :]])
    else:
        parent[key] = altered_value(rng, parent[key])


def alter_arrays(rng, arrays):
    """Change one array, or exchange two."""
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    row = rng.integers(max(1, len(array)))
    kind = rng.integers(8)
    if kind == 0:
        arrays.pop(name)
        return
    if kind == 1:
        other = sorted(arrays)[rng.integers(len(arrays))]
        arrays[name], arrays[other] = arrays[other], arrays[name]
        return
    if not len(array):
        array = np.ones(1, dtype=array.dtype)
    elif kind == 2:
        array = array[rng.permutation(len(array))]
    elif kind == 3:
        array = array[:-1]
    elif kind == 4:
        array = array * 2
    else:
        other = [-1, 0, array[row] + 1, array[row] * 1.5, 2**62, np.nan, 1e308, 1e-300][rng.integers(8)]
        array[row] = 0 if array.dtype.kind == "i" and other != other else min(other, 2**62)
    arrays[name] = array


def rows_of(mapping):
    """One row for each cell of the fitted table, with values that the file says it had."""
    columns = {}
    counts, domain = mapping.counts, mapping.counts.domain
    for axis, cells in ((domain.d, counts.d), (domain.x, counts.x), (domain.y, counts.y)):
        for variable, codes in zip(axis.variables, axis.unravel(cells), strict=True):
            values = list(variable.levels)
            if variable.coding is not None:
                values = [s.commonest if s.values else None for s in variable.coding.stock]
            values = [None if code == variable.missing else values[code] for code in codes]
            columns[variable.name] = pd.Series(values, dtype=object).infer_objects()
    return pd.DataFrame(columns)


def assert_consistent(path):
    """A mapping that was loaded keeps what it says, as recomputed here."""
    loaded = eh.Mapping.load(path)
    counts, kernel, certificate = loaded.counts, loaded.kernel, loaded.certificate
    assert np.bincount(kernel.rows, kernel.probability) == pytest.approx(np.ones(len(counts)), abs=1e-12)
    again = achieved(loaded.problem, counts, kernel)
    assert again.max_violation == pytest.approx(certificate.max_violation, abs=1e-12)
    assert again.max_violation <= 1e-6
    assert again.objective == pytest.approx(certificate.objective)
    assert not certificate.history or certificate.history[-1] == pytest.approx(certificate.objective, abs=1e-6)
    assert counts.people >= len(counts)
    for variable in counts.domain.variables:
        if variable.coding is not None:
            for level, stock in enumerate(variable.coding.stock):
                values = np.array(stock.values, float) if variable.coding.numeric else list(stock.values)
                assert np.all(variable.coding.codes(values) == level)
    for probability in loaded.table()["probability"], loaded.table("apply")["probability"]:
        assert np.isfinite(probability).all()
    rows = rows_of(loaded)
    with warnings.catch_warnings():
        # One row at a time its cell is known, unless a level has no value of its own.
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        released = loaded.release(rows, seed=1)
        loaded.apply(rows, seed=1)
    assert released.shape == rows.shape
    assert len(loaded.audit().rates)
    loaded.save(path.with_suffix(".again"))
    assert eh.Mapping.load(path.with_suffix(".again")).certificate == certificate


def assert_refused_or_consistent(original, path, rng):
    path.write_bytes(original.read_bytes())
    of_document = rng.random() < 0.7
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            rewrite(
                path,
                (lambda document: alter_document(rng, document)) if of_document else None,
                None if of_document else lambda arrays: alter_arrays(rng, arrays),
            )
        assert_consistent(path)
    except eh.StorageError:
        return


def swap_stock(document):
    """The kept values of two bins, exchanged: each is then outside its own."""
    stock = document["domain"][1]["coding"]["stock"]
    stock[0], stock[1] = stock[1], stock[0]


def swap_codings(document):
    """The bins of two columns, exchanged: neither is what the problem states."""
    one, other = document["domain"][1:3]
    for key in ("levels", "coding"):
        one[key], other[key] = other[key], one[key]


def state(old, new):
    """The problem says something else of its columns than they do."""

    def change(document):
        assert old in document["problem"]
        document.update(problem=document["problem"].replace(old, new))

    return change


CONTRADICTIONS = {
    "a value outside its bin": (swap_stock, "belongs to another level"),
    "a value twice": (
        lambda d: d["domain"][1]["coding"]["stock"][0]["values"].__setitem__(1, 18),
        "not distinct and sorted",
    ),
    "values of another weight": (
        lambda d: d["domain"][1]["coding"]["stock"][0]["weights"].__setitem__(0, 99.0),
        "not those of its levels",
    ),
    "bins of another column": (swap_codings, "other levels than the problem's bins"),
    "other edges": (state("30.0", "31.0"), "other levels than the problem's bins"),
    "fewer bins": (state("number = 3", "number = 2"), "other levels than the problem's bins"),
    "missing values are an error": (state('missing = "level"', 'missing = "error"'), "treats missing values"),
    "another blank": (state('"?"', '"-"'), "for missing"),
    "no bins at all": (lambda d: d["domain"][1].update(coding=None), "has no bins"),
    "bins of a plain column": (
        lambda d: d["domain"][3].update(coding=d["domain"][2]["coding"] | {"kind": "merges"}),
        "do not fit its levels",
    ),
    "a truth for a number": (lambda d: d["domain"][1]["coding"]["edges"].__setitem__(0, True), "are not numbers"),
    "another role": (lambda d: d["domain"][1].update(role="protected"), "protected columns are"),
    "a type that the levels are not of": (lambda d: d["domain"][0].update(dtype="bool"), "not of its type"),
    **{
        f"{kind} for texts": (lambda d, kind=kind: d["domain"][0].update(dtype=kind), "not of its type")
        for kind in ("int64", "float64", "Int8", "boolean", "int64[pyarrow]", "nonsense", "")
    },
    **{
        f"{kind} for numbers": (lambda d, kind=kind: d["domain"][-1].update(dtype=kind), "not of its type")
        for kind in ("float64", "Float32", "double[pyarrow]", "str", "bool", "nonsense")
    },
    "a history of its own": (lambda d: d["claims"].update(history=[0.5, 0.1]), "history"),
}


@pytest.mark.slow(keep=14)
@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_contradictions_are_refused_by_load_and_verify(originals, tmp_path, capsys, what):
    path = tmp_path / "m.mapping"
    path.write_bytes(originals("bins and missing values").read_bytes())
    change, words = CONTRADICTIONS[what]
    rewrite(path, change)
    with pytest.raises(eh.StorageError, match=words):
        eh.Mapping.load(path)
    with pytest.raises(typer.Exit) as ended:
        verify(path, as_json=True)
    assert ended.value.exit_code == Exit.NO
    assert re.search(words, json.loads(capsys.readouterr().out)["verdict"])


IMPOSSIBLE = {
    "more people than a number can hold": ("counts.cell_people", lambda of: of + 2**62),
    "nobody": ("counts.cell_people", lambda of: np.where(np.arange(len(of)) == 0, 0, of)),
    "negative people": ("counts.cell_people", lambda of: -of),
    "people of real numbers": ("counts.cell_people", lambda of: of.astype(float)),
    "too few numbers": ("counts.cell_people", lambda of: of[:-1]),
    "people of other cells": ("counts.cell_people", lambda of: np.roll(of, 1)),
    "no number": ("counts.cell_squares", lambda of: of * np.nan),
    "squares below those of equal weights": ("counts.cell_squares", lambda of: of * 1e-6),
    "squares above that of one weight": ("counts.cell_squares", lambda of: of * 1e6),
    "negative squares": ("counts.cell_squares", lambda of: -of),
    "other weights": ("counts.weight", lambda of: of * 1e4),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_impossible_numbers_of_people(originals, tmp_path, what):
    path = tmp_path / "m"
    path.write_bytes(originals("plain, weighed").read_bytes())
    name, change = IMPOSSIBLE[what]
    rewrite(path, None, lambda arrays: arrays.update({name: change(arrays[name])}))
    with pytest.raises(eh.StorageError):
        eh.Mapping.load(path)


@pytest.mark.parametrize("name", ["plain", "plain, weighed"])
def test_people_and_squared_weights_are_kept(originals, name):
    stated, frame, weights = ALTERED[name]()
    counts, loaded = eh.count(stated, frame, weights=weights), eh.Mapping.load(originals(name)).counts
    assert np.array_equal(loaded.cell_people, counts.cell_people)
    assert np.array_equal(loaded.cell_squares, counts.cell_squares)
    assert loaded.people == counts.people
    assert loaded.weighed == (weights is not None)


UNEVEN = {
    "halves": lambda of: of + np.where(np.arange(len(of)) % 2, 0.5, -0.5),
    "a little": lambda of: of + np.where(np.arange(len(of)) % 2, 1e-6, -1e-6),
    "shares of the people": lambda of: np.full(len(of), of.sum() / len(of)) + 0.25 * (-1) ** np.arange(len(of)),
}


@pytest.mark.parametrize("how", UNEVEN)
def test_weights_that_the_people_cannot_have(originals, tmp_path, how):
    """They sum to the people all the same."""
    path = tmp_path / "m"
    path.write_bytes(originals("loose").read_bytes())
    rewrite(path, None, lambda arrays: arrays.update({"counts.weight": UNEVEN[how](arrays["counts.weight"])}))
    with pytest.raises(eh.StorageError, match="contradict its weight"):
        eh.Mapping.load(path)


def test_a_claim_that_does_not_hold(originals, tmp_path, capsys):
    path = tmp_path / "m.mapping"
    for claim, value in {
        "status": "feasible", "objective": -1.0, "lower_bound": 1.0, "gap": float("nan"), "max_violation": 0.5,
    }.items():  # fmt: skip
        path.write_bytes(originals("plain").read_bytes())
        rewrite(path, lambda document, claim=claim, value=value: document["claims"].update({claim: value}))
        with pytest.raises(typer.Exit) as ended:
            verify(path, as_json=True)
        assert ended.value.exit_code == Exit.NO
        assert not json.loads(capsys.readouterr().out)["stands"]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_file_is_refused_or_consistent(originals, tmp_path, name):
    for seed in range(12):
        assert_refused_or_consistent(originals(name), tmp_path / "m", np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALTERED)
def test_many_altered_files_are_refused_or_consistent(originals, tmp_path, name):
    for seed in range(100, 500):
        assert_refused_or_consistent(originals(name), tmp_path / "m", np.random.default_rng(seed))
