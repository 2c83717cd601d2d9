"""Build the site: prepare the pages, run the tutorials, call Sphinx, look at the links.

    python -m handbook [--out build/site]

Any warning, any block that fails and any link that leads nowhere ends it with 1.
"""

import argparse
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from handbook.links import broken
from handbook.pages import execute, executed, prepare
from handbook.running import PageError

ROOT = Path(__file__).resolve().parents[2]
DOWNLOAD = re.compile(r'(<a [^>]*) download=""([^>]* href="[^"]*\.html")')


def main():
    """Build the site, and return the exit code."""
    parser = argparse.ArgumentParser(prog="handbook", description="Build the site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--jobs", type=int, default=2, help="how many pages are run at once")
    given = parser.parse_args()
    # Nothing is kept of an earlier build: it could hide what is wrong now.
    shutil.rmtree(given.out, ignore_errors=True)
    docs = prepare(ROOT, given.out.parent / f"{given.out.name}-pages")
    try:
        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(execute, executed(docs)))
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    doctrees = given.out.parent / f"{given.out.name}-pages" / "doctrees"
    options = ["-b", "html", "-W", "--keep-going", "-q", "-j", str(given.jobs), "-d", str(doctrees)]
    if code := sphinx([*options, str(docs), str(given.out)]):
        return code
    open_reports(given.out)
    wrong = broken(given.out)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    print(f"{len(list(given.out.rglob('*.html')))} pages: {given.out / 'index.html'}")
    return 1 if wrong else 0


def open_reports(site):
    """Let links to pages that tutorials made open them; Sphinx would have browsers save them."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if (opened := DOWNLOAD.sub(r"\1\2", text)) != text:
            page.write_text(opened, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
