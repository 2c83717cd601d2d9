"""Equations as MathML, which browsers draw themselves: no script, no font, no network.

The converter is the one that comes with docutils, which Sphinx needs anyway. An equation that it cannot read fails the
build.
"""

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError


def setup(app):
    """Register the renderer with Sphinx, as html_math_renderer = "mathml"."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer, node):
    writer.body.append(drawn(node.astext()))
    raise SkipNode


def _block(writer, node):
    writer.body.append(f'<div class="equation">{drawn(node.astext(), as_block=True)}</div>\n')
    raise SkipNode


def drawn(text, as_block=False):
    """Return an equation as an element of MathML."""
    try:
        return tex2mathml(text, as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"an equation cannot be drawn: {error}\n{text}") from error
