"""R's UCBAdmissions: a table of counts, 24 rows for 4,526 people."""

import pandas as pd

ADMISSIONS = {
    "A": ((512, 313), (89, 19)), "B": ((353, 207), (17, 8)), "C": ((120, 205), (202, 391)),
    "D": ((138, 279), (131, 244)), "E": ((53, 138), (94, 299)), "F": ((22, 351), (24, 317)),
}  # fmt: skip
"""By department men admitted and rejected, then women."""


def admissions():
    return pd.DataFrame(
        [
            {"Admit": admit, "Gender": gender, "Dept": dept, "Freq": people}
            for dept, both in ADMISSIONS.items()
            for gender, numbers in zip(("Male", "Female"), both, strict=True)
            for admit, people in zip(("Admitted", "Rejected"), numbers, strict=True)
        ]
    )
