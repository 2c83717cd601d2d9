"""Every command once, from a table to a bundle, as somebody would type them one after the other."""

from evenhand.cli.commands import COMMANDS

STEPS = [
    "example --out loans.csv",
    "init people.csv --protected group --outcome hired --out proposed.toml",
    "schema",
    "diagnose tight.toml people.csv",
    "fit fine.toml people.csv --out fine.mapping",
    "frontier fine.toml people.csv --bounds 0.2,0.3",
    "release fine.mapping people.csv --out released.csv",
    "apply fine.mapping people.csv --out applied.csv",
    "expand fine.mapping people.csv --out expanded.csv",
    "sql fine.mapping --table people --key person --dialect duckdb",
    "audit fine.mapping",
    "explain fine.mapping one.csv --where group=a",
    "monitor fine.mapping people.csv",
    "report fine.mapping --out report.html",
    "compare fine.mapping fine.mapping",
    "report fine.mapping --bundle bundle",
    "verify released.csv.manifest.json",
    "theory fine.mapping",
]
# They have the studies of the paper for a table, and tests of their own in test_studies.py; shielding needs a model.
ELSEWHERE = {"demo", "reproduce", "shield"}


def test_every_command_runs(folder, inside):
    (folder / "one.csv").write_text("group,score,hired\na,0,1\n")
    codes = {"diagnose": 1}
    for step in STEPS:
        name, *arguments = step.split()
        ended = inside(name, *arguments)
        assert ended.returncode == codes.get(name, 0), (step, ended.stdout, ended.stderr)
        assert "Traceback" not in ended.stderr, step
    for written in ("proposed.toml", "released.csv", "applied.csv", "expanded.csv", "report.html", "bundle"):
        assert (folder / written).exists(), written
    assert {step.split()[0] for step in STEPS} | ELSEWHERE == {command.__name__ for command in COMMANDS}
