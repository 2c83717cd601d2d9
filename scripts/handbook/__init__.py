"""The handbook: how ``docs`` becomes a site. It knows Markdown, Sphinx and the public face of the package."""
