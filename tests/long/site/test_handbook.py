"""The pages of docs: their code runs as it is printed, and their links lead somewhere."""

import datetime
import re
import shutil
import typing
from dataclasses import replace
from pathlib import Path

import pytest
from fits import shared_fit
from handbook.blocks import PROGRAMS, blocks, programs
from handbook.running import PageError, run

import evenhand as eh
import evenhand.verifier
from evenhand.findings.charts import Kind

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(ROOT) for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
RUN = [page for page in PAGES if page.parts[:2] == ("docs", "tutorials") or page.name in ("gallery.md", "index.md")]
RUN = [page for page in RUN if programs((ROOT / page).read_text(encoding="utf-8"))]
"""What is run when the site is built, console and all."""


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def with_python(page):
    return any(each.language == "python" for each in programs(text_of(page)))


@pytest.mark.parametrize("page", [each for each in PAGES if each not in RUN and with_python(each)], ids=str)
def test_the_code_of_a_page_runs_as_printed(page, tmp_path):
    run(page, [each for each in programs(text_of(page)) if each.language == "python"], tmp_path)


def commands_of(page):
    return [each for each in programs(text_of(page)) if each.language == "console"]


def stage_bundle(folder):
    data = eh.datasets.load("compas")
    mapping = shared_fit(data.problem, data.frame)
    mapping.save(folder / "m.mapping")
    data.frame.to_csv(folder / "applicants.csv", index=False)
    done = mapping.release(folder / "applicants.csv", to=folder / "train.csv")
    eh.manifest_of(mapping, done, folder / "m.mapping").save()
    signed = eh.SignOff("A. Signer", datetime.date.today(), "a trial", "as a test")
    (folder / "sign-off.toml").write_text(signed.to_toml())


def stage_versions(folder):
    data = eh.datasets.load("compas")
    for name, bound in (("old", 0.2), ("new", 0.1)):
        eh.fit(replace(data.problem, parity=[eh.PairwiseParity(bound)]), data.frame).save(folder / f"{name}.mapping")
    data.frame.to_csv(folder / "people.csv", index=False)


def stage_proof(folder):
    data = eh.datasets.load("compas")
    shared_fit(data.problem, data.counts).proof(folder / "FILE")
    shutil.copy(eh.verifier.__file__, folder / "verifier.py")


STAGED = {
    Path("docs/how-to/hand-over.md"): stage_bundle,
    Path("docs/how-to/compare-versions.md"): stage_versions,
    Path("docs/reference/proof-file.md"): stage_proof,
}
"""Pages whose commands begin with files that a reader has: what puts them there."""

ELSEWHERE = {Path("README.md"), Path("CONTRIBUTING.md"), Path("docs/reference/command-line.md")}
"""``test_readme.py`` and ``cli/test_raw_files.py`` run these, and whoever contributes."""


@pytest.mark.parametrize("page", STAGED, ids=str)
def test_the_commands_of_a_page_run_as_printed(page, tmp_path):
    STAGED[page](tmp_path)
    before = set(tmp_path.iterdir())
    assert commands_of(page)
    shown = run(page, commands_of(page), tmp_path)
    assert set(tmp_path.iterdir()) > before or all(shown)


def test_no_command_is_left_out():
    assert {page for page in PAGES if page not in RUN and commands_of(page)} == {*STAGED, *ELSEWHERE}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_block_says_what_it_is(page):
    """What is left out of the runs is left out by a word that is known."""
    for block in blocks(text_of(page)):
        if block.language in PROGRAMS:
            assert block.words <= {"spark", "install"}, block


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text_of(page)):
        if link.startswith(f"{page.stem}/") and page in RUN:
            continue  # what the page itself makes
        if re.match(r"https?://|mailto:", link):
            assert re.fullmatch(r"https://[\w.-]+\.\w+(/\S*)?", link), link
        else:
            assert ((ROOT / page).parent / link).exists(), link


def test_a_block_that_fails_is_told(tmp_path):
    page = "```python\nx = 1\n```\n\nWords.\n\n```python\nassert x == 2, 'not two'\n```\n"
    with pytest.raises(PageError, match=r"assert x == 2[\s\S]*AssertionError: not two"):
        run("page", programs(page), tmp_path)
    with pytest.raises(PageError, match="it ended with 3"):
        run("page", programs("```console\nexit 3\n```\n"), tmp_path)


def test_blocks_share_a_folder_and_a_session_and_show_what_they_do(tmp_path):
    page = "```python\nx = 41\n```\n```console\necho 1 > one.txt\n```\n"
    page += "```python\nprint('so')\nx + int(open('one.txt').read())\n```\n"
    page += "```python spark\nraise SystemExit\n```\n"
    assert run("page", programs(page), tmp_path) == ["", "", "so\n42\n"]


def test_every_public_name_is_in_the_reference():
    """Once, under the name that users call it by; and modules' own functions with theirs."""
    listed = re.findall(r"^   ([\w.]+)$", text_of("docs/reference/python.md"), flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {name for name in listed if "." not in name} == set(eh.__all__) - {"__version__", "datasets"}


def test_every_chart_is_in_the_gallery():
    gallery = text_of("docs/gallery.md")
    kinds = typing.get_args(Kind)
    assert kinds
    for kind in kinds:
        assert f'mapping.chart("{kind}"' in gallery, kind
    drawn = set(re.findall(r'"([\w/-]+\.png)"', gallery)) | {f"paper/figure-{number}.png" for number in range(2, 6)}
    assert {f"gallery/{name}" for name in drawn} == set(re.findall(r"\]\((gallery/[^)]+)\)", gallery))


def test_every_page_is_in_a_list_of_pages():
    """What no index names, nobody finds; Sphinx would fail, but only when the site is built."""
    for page in PAGES:
        if page.parts[0] == "docs" and page.name != "index.md":
            index = text_of(page.parent / "index.md")
            assert re.search(rf"^({page.stem}|0\*)$", index, flags=re.MULTILINE), page


def test_the_reference_of_commands_has_them_all():
    from handbook.commands import reference

    from evenhand.cli.commands import COMMANDS

    text = reference()
    assert re.findall(r"^### evenhand (\w+)", text, flags=re.MULTILINE) == [each.__name__ for each in COMMANDS]
    assert r"Makes the draws repeatable." in text
    assert text_of("docs/reference/commands.md").count("<!-- commands -->") == 1


@pytest.mark.spark
def test_the_tutorial_of_spark_runs_on_spark(tmp_path):
    page = Path("docs/tutorials/spark-and-sql.md")
    chosen = programs(text_of(page), besides=frozenset({"spark"}))
    assert len(chosen) == len(programs(text_of(page))) + 1
    run(page, chosen, tmp_path)
