"""The fenced blocks of a Markdown page. It knows nothing of running them."""

import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(\w[\w-]*)([^\n`]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PROGRAMS = ("python", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words after it, its text, and where in the page it ends."""

    language: str
    words: frozenset[str]
    text: str
    end: int


def blocks(page):
    """Return the fenced blocks of a page, in their order."""
    return [Block(m[1], frozenset(m[2].split()), m[3], m.end()) for m in FENCE.finditer(page)]


def programs(page, besides=frozenset()):
    """Return the blocks that can be run: no words after the language, or only some of ``besides``.

    ``spark`` needs a Spark session, ``install`` changes the machine.
    """
    return [each for each in blocks(page) if each.language in PROGRAMS and each.words <= besides]
