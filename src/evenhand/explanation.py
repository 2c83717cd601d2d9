"""One person and a mapping: what may become of them and how likely, which limits bind, why another differs."""

from __future__ import annotations

from typing import get_args

from evenhand import check
from evenhand.findings.explaining import Explaining, Explanation
from evenhand.kernel.draws import MODES
from evenhand.kernel.strangers import Policy
from evenhand.mapping import Mapping
from evenhand.tables.person import Record
from evenhand.tables.transforming import Missing, Mode, Unseen


def explain(
    mapping: Mapping,
    row: Record,
    *,
    mode: Mode | None = None,
    beside: Record | None = None,
    unseen: Policy | None = None,
    missing: Missing | None = None,
) -> Explanation:
    """Explain one person: what may become of them and how likely, which limits bind, why another differs.

    Parameters
    ----------
    row : mapping of str to value
        A value for each column, as in :meth:`Mapping.person`.
    mode : {"release", "apply"}, optional
        Train mode or apply mode; by default train mode where the row has an outcome.
    beside : mapping of str to value, optional
        Another person, from whom this one is told apart.
    unseen : {"typical", "keep"}, optional
        As in :class:`evenhand.Draws`.
    missing : {"level", "error"}, optional
        As in :class:`evenhand.Draws`.

    Returns
    -------
    Explanation
        ``table`` has every possible result with its probability; ``print`` shows all of it in sentences.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> person = {"sex": "Male", "race": "African-American", "age_cat": "25 - 45", "c_charge_degree": "F"}
    >>> found = mapping.explain({**person, "priors_count": "1-3", "is_recid": 1})
    >>> found.known, round(found.stays, 3), found.limits[0].binds
    ('fitted', ..., True)
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    record = check.mapping("row", row, "a mapping of columns to values, such as a dict")
    check.one_of("mode", mode, (None, *MODES))
    check.one_of("unseen", unseen, (None, *get_args(Policy)))
    chosen = mode or ("release" if mapping.problem.outcome in record else "apply")
    about = explaining(mapping, chosen, unseen, missing)
    lookup = about.mode.lookup
    own = lookup.placed(lookup.levels(lookup.values(record)))
    if beside is None:
        return about.explain(own)
    other = check.mapping("beside", beside, "a mapping of columns to values, such as a dict")
    return about.explain(own, lookup.placed(lookup.levels(lookup.values(other))))


def explaining(
    mapping: Mapping, mode: Mode, unseen: Unseen | None = None, missing: Missing | None = None
) -> Explaining:
    """Return the mapping in one mode, from which any number of people are explained."""
    given = mapping.problem, mapping.counts, mapping.achieved, mapping.mode(mode, unseen, missing), mapping.kernel
    return Explaining(*given, margins=mapping.assurance is not None)
