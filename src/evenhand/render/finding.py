"""What every result can do: show itself, in short or in full, in every medium, each of which is loaded when it is asked
for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.render.section import Section


class Finding:
    """A result with sections, which ``print`` shows in full, and a notebook as HTML."""

    if TYPE_CHECKING:

        @property
        def sections(self) -> tuple[Section, ...]:
            """What was found, as data: a field or a property of every result."""

    def __str__(self) -> str:
        from evenhand.render import terminal

        return terminal.text(self.sections)

    def _repr_html_(self) -> str:
        from evenhand.render import html

        return html.fragments(self.sections)

    def sentences(self, *sections: str) -> list[str]:
        """Return what is said in sections, by their keys, or in all of them."""
        from evenhand.render.section import notes_of
        from evenhand.render.sentences import sentence

        return list(map(sentence, notes_of(self.sections, *sections)))

    def to_json(self) -> str:
        """Return every table, fact and note as one JSON document."""
        from evenhand.render import document

        return document.text(document.document(self.sections))

    def to_markdown(self) -> str:
        """Return the sections as Markdown."""
        from evenhand.render import markdown

        return markdown.text(self.sections)
