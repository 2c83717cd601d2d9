"""Who changes: the one set of facts behind audit, screen, report and charts."""

import numpy as np
import pytest

from evenhand.findings.changes import changes, conditional, most_changed, most_changed_groups
from evenhand.findings.naming import matching


def every_group(counts):
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def test_moves_are_the_kernels_and_columns_need_a_sum(compas_mapping):
    m = compas_mapping
    where = {"sex": "Male", "race": "African-American", "age_cat": "Less than 25", "is_recid": 1}
    table = m.table()
    own = table[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    every = conditional(m.counts, m.kernel, where, least=0)
    assert sorted(row["probability"] for row in every) == pytest.approx(sorted(own["probability"]))
    total = {}
    for row in every:
        total[row["target"]] = total.get(row["target"], 0) + row["probability"]
    shown = {row["target"] for row in conditional(m.counts, m.kernel, where, least=0.5)}
    assert shown == {target for target, mass in total.items() if mass > 0.5}
    assert {row["source"] for row in every} == {f"{c} · {p}" for c in "FM" for p in ("0", "1-3", ">3")}


def test_changes_add_up_to_the_audits(compas_mapping):
    m = compas_mapping
    audit = {(r["column"], r["from"], r["to"]): r["share"] for r in m.audit().changes.to_dict("records")}
    found = {}
    who = changes(m.counts, m.kernel, m.achieved)
    for move in who.moves:
        key = (move.column.name, *move.levels)
        found[key] = found.get(key, 0) + move.people / 5278
        there = matching(m.counts, {**move.group, move.column.name: move.levels[0]})
        assert move.had == m.counts.weight[there].sum()
        assert move.probability == move.people / move.had
    assert found == pytest.approx(audit)


def test_groups_are_chosen_by_people_changed(adult_mapping):
    m = adult_mapping
    people = np.bincount(m.counts.groups.of_source, weights=m.counts.weight * m.achieved.changed)
    for most in (1, 2, 4):
        wanted = set(np.argsort(-people)[:most])
        expected = [g for at, g in enumerate(every_group(m.counts)) if at in wanted]
        assert most_changed_groups(m.counts, m.achieved.changed, most) == expected
    large = most_changed_groups(m.counts, m.achieved.changed, 4, hide_below=10_000)
    assert [m.counts.weight[matching(m.counts, g)].sum() >= 10_000 for g in large] == [True] * len(large)


def test_a_heat_map_is_not_of_hidden_cells(compas_mapping):
    m = compas_mapping
    chosen = most_changed(m.counts, m.kernel, m.achieved.changed, hide_below=100, panels=99)
    for part in chosen.parts:
        there = matching(m.counts, part) & (m.counts.weight >= 100)
        assert (m.counts.weight * m.achieved.changed)[there].sum() > 0
    assert most_changed(m.counts, m.kernel, m.achieved.changed, hide_below=1e9).parts == []
