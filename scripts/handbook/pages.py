"""Prepare the pages: a copy of docs in which tutorials show what their code does, and the commands their own help.

The copy lies in a folder like the repository's root, so that links to files beside docs lead where they should.
"""

import shutil
from pathlib import Path

from handbook.blocks import programs
from handbook.commands import reference
from handbook.running import run

BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "README.md", "CITATION.cff", "LICENSE", "examples")
COMMANDS = "<!-- commands -->"
MOST_LINES = 200
"""What a block shows is cut after so many lines."""


def prepare(root, folder):
    """Copy docs, and what its pages refer to, into an empty folder, and write what is generated; return docs there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in BESIDE:
        if (source := Path(root) / name).is_dir():
            shutil.copytree(source, folder / name)
        elif source.exists():
            shutil.copy(source, folder / name)
    docs = folder / "docs"
    shutil.copytree(Path(root) / "docs", docs)
    commands = docs / "reference" / "commands.md"
    commands.write_text(commands.read_text(encoding="utf-8").replace(COMMANDS, reference()), encoding="utf-8")
    return docs


def executed(docs):
    """Return the pages that are run when the site is built."""
    return [docs / "index.md", docs / "gallery.md", *sorted((docs / "tutorials").glob("*.md"))]


def execute(page):
    """Run a page in a folder of its own name beside it, and write what each block shows below the block."""
    text = page.read_text(encoding="utf-8")
    chosen = programs(text)
    if not chosen:
        return
    folder = page.with_suffix("")
    folder.mkdir()
    shown = run(page.name, chosen, folder)
    for block, said in reversed(list(zip(chosen, shown, strict=True))):
        text = text[: block.end] + _output(said) + text[block.end :]
    page.write_text(text, encoding="utf-8")


def _output(said):
    """Return what a block shows as a block of its own; nothing where it shows nothing."""
    lines = [line.rstrip() for line in said.strip("\n").splitlines()]
    if not lines:
        return ""
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"… and {len(lines) - MOST_LINES} lines more"]
    return "\n\n````{code-block} text\n:class: output\n\n" + "\n".join(lines) + "\n````\n"
