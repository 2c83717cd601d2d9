"""The scripts that make the charts of a page live. Bundled once by vl-convert, and kept for the pages after that.

Bundling takes about two seconds, more than all other work of a small report; and what comes out is the same for every
page of one version of vl-convert. Whatever is wrong with what was kept, or with the folder, it is bundled anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from evenhand.errors import StorageError
from evenhand.files import replace_file
from evenhand.report.charts.chart import drawing

CACHE = "EVENHAND_CACHE"
"""The environment variable that names the folder; empty, nothing is kept."""

OTHERS_MAY_WRITE = 0o022


@cache
def bundle() -> str:
    """Return the scripts, once for all charts of a page; no tag of it can end inside of them."""
    package, folder = drawing(), cache_folder()
    path = None if folder is None else folder / f"vega-{version('vl-convert-python')}.js"
    scripts = None if path is None else _kept(path)
    if scripts is None:
        scripts = str(package.javascript_bundle())
        if path is not None:
            _keep(path, scripts)
    return scripts.replace("</script", "<\\/script")


def cache_folder() -> Path | None:
    """Return the folder for what can be made again: the user's own for such files; None to keep nothing."""
    named = os.environ.get(CACHE)
    if named is not None:
        return Path(named) if named else None
    try:
        usual = {"darwin": Path.home() / "Library/Caches", "win32": Path.home() / "AppData/Local"}
        there = os.environ.get("XDG_CACHE_HOME", "")
        # By its specification a path that is not absolute is not meant.
        folder = Path(there) if os.path.isabs(there) else Path.home() / ".cache"
    except RuntimeError:
        # Nobody's home is known.
        return None
    return usual.get(sys.platform, folder) / "evenhand"


def _kept(path: Path) -> str | None:
    """Return what was kept, if it is whole and nobody else could have written it: it will run in readers' browsers."""
    try:
        found = path.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & OTHERS_MAY_WRITE):
            return None
        digest, _, scripts = path.read_bytes().partition(b"\n")
    except (OSError, ValueError):
        return None
    return scripts.decode() if digest.decode(errors="replace") == hashlib.sha256(scripts).hexdigest() else None


def _keep(path: Path, scripts: str) -> None:
    """Keep the scripts with their checksum, if the folder can be written to."""
    content = scripts.encode()
    with suppress(OSError, ValueError, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        path.chmod(0o600)
