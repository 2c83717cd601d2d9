"""What a command names as the next can be copied and run as it is."""

import shlex

import pytest
from families import small_frame

FIT = ("fit", "fine.toml", "my people.csv", "--out", "my mapping")
COUNTED = ("fit", "fine.toml", "my cells.csv", "--frequencies", "n", "--out", "my mapping")
CHAINS = {
    "example": (("example", "--out", "my loans.csv"),),
    "init": (("init", "my people.csv", "--protected", "group", "--outcome", "hired", "--out", "my problem.toml"),),
    "fit": (FIT,),
    "fit compas": (("fit", "compas"),),
    "fit compas own.csv": (("fit", "compas", "own.csv"),),
    "shield": (("shield", "shield.toml", "my people.csv"),),
    "release": (FIT, ("release", "my mapping", "my people.csv", "--out", "out.csv")),
    "release elsewhere": (
        FIT,
        ("release", "my mapping", "my people.csv", "--out", "new place/out.csv", "--changes", "c.csv"),
    ),
    "release of counts": (COUNTED, ("release", "my mapping", "my cells.csv", "--out", "out.csv")),
    "fit counts": (COUNTED,),
    "apply": (FIT, ("apply", "my mapping", "my people.csv", "--out", "out.csv")),
    "expand": (FIT, ("expand", "my mapping", "my people.csv", "--out", "out.csv", "--missing", "level")),
}


def following(shown):
    """The commands under the heading Next, as a shell would split them."""
    _, _, last = shown.partition("\nNext\n")
    return [shlex.split(line) for line in last.splitlines() if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS)
def test_the_next_commands_run(folder, inside, chain):
    small_frame().to_csv(folder / "my people.csv", index=False)
    small_frame().value_counts().rename("n").reset_index().to_csv(folder / "my cells.csv", index=False)
    (folder / "new place").mkdir()
    if "own.csv" in chain:
        from evenhand.datasets import load

        load("compas").frame.to_csv(folder / "own.csv", index=False)
    for arguments in CHAINS[chain]:
        result = inside(*arguments)
        assert result.returncode == 0, result.stderr
    commands = following(result.stdout)
    assert commands
    for program, *arguments in commands:
        assert program == "evenhand"
        ended = inside(*arguments)
        assert ended.returncode == 0, (arguments, ended.stdout, ended.stderr)
