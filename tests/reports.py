"""Reports to test: one of a study with everything in it, and one of a table whose names are hostile."""

import pandas as pd

import evenhand as eh

HOSTILE = "<script>alert('x')</script>"
CLOSING = "</script><img src=x onerror=alert(1)>"


def full(compas, compas_mapping, folder):
    """COMPAS with a model and a frontier, from a file."""
    path = folder / "compas.mapping"
    compas_mapping.save(path)
    return eh.report_on(compas_mapping, frame=compas.frame, source=path)


def hostile_frame():
    """A small table whose levels and columns are HTML and whose last group is small."""
    cells = [
        ("a & b", HOSTILE, 0, 60), ("a & b", HOSTILE, 1, 40), ("a & b", CLOSING, 0, 30), ("a & b", CLOSING, 1, 70),
        (HOSTILE, HOSTILE, 0, 50), (HOSTILE, HOSTILE, 1, 10), (HOSTILE, CLOSING, 0, 40), (HOSTILE, CLOSING, 1, 7),
        ("small", CLOSING, 0, 6), ("small", CLOSING, 1, 3),
    ]  # fmt: skip
    return pd.DataFrame([(d, x, y) for d, x, y, n in cells for _ in range(n)], columns=["<b>group</b>", "x", "y"])


def hostile_mapping(bound=0.5):
    """A mapping of it."""
    problem = eh.Problem(
        protected=["<b>group</b>"], features=["x"], outcome="y", parity=[eh.PairwiseParity(bound)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    return eh.fit(problem, hostile_frame())
