"""MD5 in arrays: the same as hashlib's, for texts of every length."""

import hashlib

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.kernel import md5
from evenhand.kernel.md5 import BLOCK, FEW, ONE_BLOCK, Texts, first_bits, leading_bits


def plainly(start, texts, bits=52):
    found = (hashlib.md5(f"{start}{text}".encode()).digest() for text in texts)
    return [int.from_bytes(digest[:8]) >> (64 - bits) for digest in found]


@pytest.fixture(params=[0, FEW], ids=["in arrays", "one by one"], autouse=True)
def few(request, monkeypatch):
    """How many texts are so few that they are hashed one by one."""
    monkeypatch.setattr(md5, "FEW", request.param)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=80), max_size=30), start=st.text(max_size=20))
@example(texts=["", "\0", "a\0", "é" * 27, "€" * 19], start="")
def test_any_text(texts, start):
    texts = [text.encode(errors="replace").decode() for text in texts]
    start = start.encode(errors="replace").decode()
    assert leading_bits(start, Texts.of(texts), 52).tolist() == plainly(start, texts)


@pytest.mark.parametrize("start", ["", "apply:0:", "x" * (ONE_BLOCK - 1), "x" * ONE_BLOCK, "x" * 64, "x" * 200])
def test_every_length(start):
    texts = ["".join(chr(33 + (i * j) % 90) for j in range(i)) for i in range(140)]
    assert leading_bits(start, Texts.of(texts), 63).tolist() == plainly(start, texts, bits=63)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_texts_on_any_number_of_cores(threads):
    texts = [str(i * 7919) for i in range(2 * BLOCK + 17)]
    texts[::1000] = [text * 12 for text in texts[::1000]]
    with eh.using(threads=threads):
        found = leading_bits("release:3:", Texts.of(texts), 52)
    assert found.tolist() == plainly("release:3:", texts)


def test_one_text():
    assert [first_bits(b"release:3:7", bits) for bits in (52, 64)] == [
        plainly("release:3:", ["7"], bits)[0] for bits in (52, 64)
    ]


def test_texts_by_number():
    texts = Texts.of(["a", "", "né"])
    again = texts.repeated(np.array([2, 0, 2, 1]))
    assert [again[i].decode() for i in range(len(again))] == ["né", "a", "né", ""]
