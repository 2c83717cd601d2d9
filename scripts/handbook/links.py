"""Look at the links of a built site: whatever they lead to is there, and nothing is fetched from elsewhere."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src")}
"""What a browser loads by itself, besides style sheets and icons."""


@dataclass
class _Page(HTMLParser):
    """The links, the fetched addresses and the anchors of one page."""

    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attrs):
        """Take note of an element."""
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and given.get("href") and given.get("rel") not in ("canonical",):
            self.fetched.append(given["href"])
        self.fetched += [given[name] for element, name in FETCHED if element == tag and given.get(name)]


def read(path):
    """Return what a page refers to."""
    found = _Page()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def broken(site):
    """Return a sentence for each link of a site that leads nowhere, and for whatever would be fetched from elsewhere.

    Links to other sites are only looked at for their form: there need not be a network.
    """
    site = Path(site).resolve()
    found = [path for path in sorted(site.rglob("*.html")) if not path.relative_to(site).parts[0].startswith("_")]
    pages = {path: read(path) for path in found}
    return [
        f"{path.relative_to(site)}: {wrong}"
        for path, page in pages.items()
        for wrong in [*_wrong_links(path, page.links, pages), *_wrong_links(path, page.fetched, pages, inside=True)]
    ]


def _wrong_links(path, links, pages, inside=False):
    for link in links:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https") or link.startswith("//"):
            if inside:
                yield f"{link} would be fetched from elsewhere"
            elif not re.fullmatch(r"https://[\w-]+(\.[\w-]+)+(/[^\s<>\"]*)?", link):
                yield f"{link} does not look like an address"
        elif parts.scheme in ("", "file"):
            yield from _wrong_place(path, parts, link, pages)
        elif parts.scheme not in ("data", "mailto"):
            yield f"{link} is of an unknown kind"


def _wrong_place(path, parts, link, pages):
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        yield f"{link} leads nowhere"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        yield f"{link}: there is no such place on that page"
