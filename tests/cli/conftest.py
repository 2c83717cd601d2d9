"""A folder with problems and their table, and the command line run inside it."""

import subprocess
import sys

import pytest
from families import small_frame

from evenhand import cli

TOML = """
protected = ["group"]
features = ["score"]
outcome = "hired"
parity = [{{ kind = "pairwise", bound = {bound} }}]
budget = [{{ kind = "expected", limit = {limit} }}]

[distortion.rules.score]
rule = "ordinal"
step = 1

[distortion.rules.hired]
{hired}
"""
FALLS = 'rule = "ordinal"\nstep = 1\nup = false'
FREE = 'rule = "free"'


def filled(folder):
    """A problem that can be solved, one that cannot, one for shielding, and their table."""
    (folder / "fine.toml").write_text(TOML.format(bound=0.2, limit=0.45, hired=FALLS))
    (folder / "tight.toml").write_text(TOML.format(bound=0.1, limit=0.1, hired=FALLS))
    (folder / "shield.toml").write_text(TOML.format(bound=0.15, limit=0.5, hired=FREE))
    small_frame().to_csv(folder / "people.csv", index=False)
    return folder


@pytest.fixture
def folder(tmp_path):
    return filled(tmp_path)


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    """The command line without a process of its own: its own entry, in the folder."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            cli.main()
        written = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ending.value.code or 0, written.out, written.err)

    return run


@pytest.fixture(scope="session")
def fine_mapping(tmp_path_factory):
    """The file that the command writes for the problem that can be solved; made once."""
    folder = filled(tmp_path_factory.mktemp("fitted"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["evenhand", "fit", "fine.toml", "people.csv", "--out", "fine.mapping"])
        with pytest.raises(SystemExit) as ending:
            cli.main()
    assert not ending.value.code
    return (folder / "fine.mapping").read_bytes()


@pytest.fixture
def fitted(folder, fine_mapping):
    """The folder with the mapping of the problem that can be solved."""
    (folder / "fine.mapping").write_bytes(fine_mapping)
    return folder
