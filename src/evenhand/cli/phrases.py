"""Messages of the library in the words of the command line: its options, and what a problem's TOML says.

The library speaks to people who call it from Python. What it says is the same; how to write it is not.
"""

from __future__ import annotations

import re

IN_TOML = "missing|per|targets|tie_break|suppress_protected|combine|against"
"""What is written in a problem as a word, under the name that it has in Python."""

TURNS: tuple[tuple[str, str], ...] = (
    (r"\bmemory='([\w.]+)'", r"--memory \1"),
    (r"\bthreads=(\d+)", r"--threads \1"),
    (r"\braise memory=", "raise --memory"),
    (r"\buse seed= for", "leave --key out for"),
    (r"\bunseen='(\w+)'", r"--unseen \1"),
    (r"\brestore='(\w+)'", r"--restore \1"),
    (r"\bwrite missing='level'", 'write missing = "level" in the problem'),
    (rf"\b({IN_TOML})='(\w+)'", r'\1 = "\2"'),
    (r"\bblind=True\b", "blind = true in the problem"),
    (
        r"bins=\{'([^']*)': eh\.Quantiles\(4\)\}, eh\.ChosenBins\(\) or eh\.Edges\(\[\.\.\.\]\)",
        r'write [bins.\1] with by = "quantiles" and number = 4, by = "data", or by = "edges" and edges = [...]',
    ),
    (r"write Edges\(\[\.\.\.\]\)", 'write by = "edges" and edges = [...] in its bins'),
    (
        r"write Ordinal\(\.\.\., levels=\[\.\.\.\]\) from lowest to highest, or use an ordered categorical column",
        "write levels = [...] into its rule, from lowest to highest",
    ),
    (
        r"add for example \{'([^']*)': Ordinal\(step=1\)\} to the distortion, or Fixed\(\) if it may never change",
        r'write [distortion.rules.\1] with rule = "ordinal" and step = 1, or rule = "fixed" if it may never change',
    ),
    (r"\b([Ww]rite|use) '([^']*)': Free\(\)", r'\1 rule = "free" in [distortion.rules.\2]'),
    (r"\bor Free\(\)", 'or rule = "free"'),
    (r"math\.inf to forbid it", "inf to forbid it"),
    (r"\bevenhand diagnose, or eh\.diagnose, says", "evenhand diagnose says"),
    (r"; give it parity=\[PairwiseParity\(\.\.\.\)\]", "; write [[parity]] into it"),
)
"""What the library writes for Python, and the same for a terminal."""


def for_terminals(message: str) -> str:
    """Return a message with Python's spelling turned into that of options and problems.

    Examples
    --------
    >>> for_terminals("fill them, drop those rows, or write missing='level'")
    'fill them, drop those rows, or write missing = "level" in the problem'
    """
    for python, terminal in TURNS:
        message = re.sub(python, terminal, message)
    return message
