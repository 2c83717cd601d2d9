"""Docstrings as Sphinx reads them: numpydoc's sections, in which types are words and not references."""

import re
from dataclasses import MISSING, fields, is_dataclass

from sphinx.ext.napoleon import Config, NumpyDocstring

CONFIG = Config(
    napoleon_use_param=False, napoleon_use_rtype=False, napoleon_custom_sections=[("Attributes", "params_style")]
)
LITERAL = re.compile(r"(``.*?``)")


def setup(app):
    """Connect with autodoc."""
    app.connect("autodoc-process-docstring", _processed)
    app.connect("autodoc-process-signature", _signed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _processed(app, what, name, obj, options, lines):
    lines[:] = read(lines)


def _signed(app, what, name, obj, options, signature, returns):
    return (with_defaults(obj, signature), returns) if signature and is_dataclass(obj) else None


def with_defaults(kind, signature):
    """Return the signature of a dataclass with the values that its factories make.

    Examples
    --------
    >>> import evenhand as eh
    >>> with_defaults(eh.PairwiseParity, "(bound, distance=<factory>)")
    '(bound, distance=Ratio())'
    """
    for each in fields(kind):
        if each.default_factory is not MISSING:
            signature = re.sub(rf"\b{each.name}=<factory>", f"{each.name}={each.default_factory()!r}", signature)
    return signature


def read(lines):
    r"""Return the lines of a docstring as reStructuredText.

    A property's is a sentence, and not read as a type before a colon, since nothing is said of what it documents; and
    bars are those of a mathematician.

    Examples
    --------
    >>> read(["The rate: |p - q|, not ``p|q``."])
    ['The rate: \\|p - q\\|, not ``p|q``.']
    """
    found = NumpyDocstring(lines, CONFIG).lines()
    return ["".join(_escaped(part) for part in LITERAL.split(line)) for line in found]


def _escaped(part):
    return part if part.startswith("``") or part.lstrip().startswith(">>>") else part.replace("|", r"\|")
