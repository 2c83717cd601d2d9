"""The reference of the command line, written from the commands' own help."""

import re

import typer


def reference():
    """Return every command as Markdown: its words, its usage, its arguments and options."""
    from evenhand.cli.commands import COMMANDS, app

    group = typer.main.get_command(app)
    panels = dict.fromkeys(COMMANDS.values())
    found = []
    for panel in panels:
        found.append(f"## {panel}\n")
        found += [_section(group.commands[each.__name__]) for each in COMMANDS if COMMANDS[each] == panel]
    return "\n".join(found)


def _section(command):
    context = typer.Context(command, info_name=f"evenhand {command.name}")
    usage = " ".join(command.get_usage(context).removeprefix("Usage:").split())
    rows = [_row(each, each.get_help_record(context)) for each in command.params if not getattr(each, "hidden", False)]
    table = "\n".join(["| argument or option | what it is |", "|---|---|", *rows])
    return f"### evenhand {command.name}\n\n{_words(command.help)}\n\n```text\n{usage}\n```\n\n{table}\n"


def _row(parameter, record):
    name, words = record
    if parameter.param_type_name == "argument":
        name = f"{name} (an argument)"
    # A bar would end the cell, also within a name.
    return "| `{}` | {} |".format(name.replace("|", r"\|"), _words(words))


def _words(text):
    """Return a help text as a line of Markdown in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|$])", r"\\\1", " ".join((text or "").split()))
