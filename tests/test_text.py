"""Text of others, as terminals, pages and pictures may show it."""

import sys

import pytest

from evenhand.text import printable, printable_lines


def test_no_character_is_left_that_a_reader_would_obey():
    """Of all of Unicode only what Python prints is left, joiners and spaces, which ordinary writing needs."""
    kept = [chr(code) for code in range(sys.maxunicode + 1) if printable(chr(code)) == chr(code)]
    joiners_and_spaces = {letter for letter in kept if not letter.isprintable()}
    assert joiners_and_spaces == {*"\u200c\u200d\u00a0\u1680\u202f\u205f\u3000", *map(chr, range(0x2000, 0x200B))}


def test_signs_keep_control_characters_apart():
    controls = [*map(chr, range(32)), "\x7f"]
    assert len({printable(letter) for letter in controls}) == len(controls)
    assert printable("a\x1b\x07\n\x7fb\u202ec\x9b\ud800") == "a␛␇␊␡b�c��"


def test_lines_stay_lines():
    assert printable_lines("a\x1b\nb\r") == "a␛\nb␍"


@pytest.mark.parametrize("text", ["naïve", "日本", "עברית", "1\u202f000", "👩\u200d🔬", "می\u200cخواهم"])
def test_ordinary_writing_stays_as_it_is(text):
    assert printable(text) == text
