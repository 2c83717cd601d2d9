"""How Sphinx builds the site. ``make docs`` calls it, through scripts/handbook, which prepares the pages."""

from evenhand import __version__

project = "evenhand"
author = "The evenhand developers"
copyright = "The evenhand developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "handbook.docstrings",
    "handbook.mathml",
]
# Every reference must lead somewhere; make docs turns warnings into errors.
nitpicky = True
templates_path = ["_templates"]
# What tutorials make when they are run lies beside them, in folders of their own.
exclude_patterns = ["tutorials/*/**", "gallery/**", "index/**"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]

html_math_renderer = "mathml"

autosummary_generate = True
# Types are told in the docstrings, in words.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"

html_theme = "pydata_sphinx_theme"
html_title = "evenhand"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# Excerpts are fetched, which browsers refuse for files that are opened without a server.
html_show_search_summary = False
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "evenhand", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "gallery": []}
