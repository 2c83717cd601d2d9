"""Optimized data pre-processing (Calmon et al. 2017): bound an outcome's dependence on protected attributes.

One table of public names, each loaded when it is first used. Parts of a problem that come in several kinds (measures,
distances, forms of parity, rules, budgets, ways to make levels) are public by their line in ``evenhand.spec.registry``,
which is read when one of them is asked for: importing this loads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenhand._version import __version__ as __version__

_HOMES = {
    "errors": [
        "DataError",
        "EvenhandError",
        "EvenhandWarning",
        "InfeasibleError",
        "MissingExtraError",
        "SolverError",
        "SpecError",
        "StorageError",
        "TimeLimitError",
    ],
    "resources": ["using"],
    "data.counts": ["Counts"],
    "spec.sign_off": ["SignOff"],
    "findings.manifest": ["Manifest"],
    "use.manifests": ["manifest_of", "verify_manifest"],
    "spec": [
        "By",
        "CsvFormat",
        "Conditional",
        "Distortion",
        "Forbidden",
        "Problem",
    ],
    "tables": ["count"],
    "optimize.certificate": ["Certificate"],
    "findings.audit": ["Audit"],
    "mapping": ["Mapping"],
    "findings.feasibility": ["identity_from", "smallest_budget_factor", "smallest_parity_bound"],
    "fitting": ["fit"],
    "tables.transforming": ["Draws"],
    "evaluation": ["audit", "monitor"],
    "explanation": ["explain"],
    "use.estimator": ["OptimizedPreprocessor", "PreprocessedClassifier", "ShieldedClassifier"],
    "use.scoring": ["out_of_fold"],
    "diagnosis": ["Diagnosis", "diagnose"],
    "use.proposal": ["propose"],
    "use.tradeoff": ["Frontier", "frontier"],
    "use.reporting": ["Report", "report_on"],
    "use.comparing": ["Comparison", "compare"],
    "use.bundle": ["Bundle", "bundle"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from evenhand import datasets as datasets
    from evenhand.data.counts import Counts as Counts
    from evenhand.diagnosis import Diagnosis as Diagnosis
    from evenhand.diagnosis import diagnose as diagnose
    from evenhand.errors import DataError as DataError
    from evenhand.errors import EvenhandError as EvenhandError
    from evenhand.errors import EvenhandWarning as EvenhandWarning
    from evenhand.errors import InfeasibleError as InfeasibleError
    from evenhand.errors import MissingExtraError as MissingExtraError
    from evenhand.errors import SolverError as SolverError
    from evenhand.errors import SpecError as SpecError
    from evenhand.errors import StorageError as StorageError
    from evenhand.errors import TimeLimitError as TimeLimitError
    from evenhand.evaluation import audit as audit
    from evenhand.evaluation import monitor as monitor
    from evenhand.explanation import explain as explain
    from evenhand.findings.audit import Audit as Audit
    from evenhand.findings.feasibility import identity_from as identity_from
    from evenhand.findings.feasibility import smallest_budget_factor as smallest_budget_factor
    from evenhand.findings.feasibility import smallest_parity_bound as smallest_parity_bound
    from evenhand.findings.manifest import Manifest as Manifest
    from evenhand.fitting import fit as fit
    from evenhand.mapping import Mapping as Mapping
    from evenhand.optimize.certificate import Certificate as Certificate
    from evenhand.resources import using as using
    from evenhand.spec import By as By
    from evenhand.spec import Conditional as Conditional
    from evenhand.spec import CsvFormat as CsvFormat
    from evenhand.spec import Distortion as Distortion
    from evenhand.spec import Forbidden as Forbidden
    from evenhand.spec import Problem as Problem
    from evenhand.spec.registry import *  # noqa: F403
    from evenhand.spec.sign_off import SignOff as SignOff
    from evenhand.tables import count as count
    from evenhand.tables.transforming import Draws as Draws
    from evenhand.use.bundle import Bundle as Bundle
    from evenhand.use.bundle import bundle as bundle
    from evenhand.use.comparing import Comparison as Comparison
    from evenhand.use.comparing import compare as compare
    from evenhand.use.estimator import OptimizedPreprocessor as OptimizedPreprocessor
    from evenhand.use.estimator import PreprocessedClassifier as PreprocessedClassifier
    from evenhand.use.estimator import ShieldedClassifier as ShieldedClassifier
    from evenhand.use.manifests import manifest_of as manifest_of
    from evenhand.use.manifests import verify_manifest as verify_manifest
    from evenhand.use.proposal import propose as propose
    from evenhand.use.reporting import Report as Report
    from evenhand.use.reporting import report_on as report_on
    from evenhand.use.scoring import out_of_fold as out_of_fold
    from evenhand.use.tradeoff import Frontier as Frontier
    from evenhand.use.tradeoff import frontier as frontier


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("evenhand.datasets")
    if name == "__all__":
        return ["__version__", "datasets", *sorted([*_HOME_OF, *_registered()])]
    if name in _HOME_OF:
        # Kept, so that the next use of the name does not come here.
        found = globals()[name] = getattr(import_module(f"evenhand.{_HOME_OF[name]}"), name)
        return found
    # Python asks here for submodules too, in lower case: those must not load the registry.
    if name[:1].isupper() and name in (registered := _registered()):
        return registered[name]
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}")


def _registered() -> dict[str, Any]:
    """Return what the registry holds, by name."""
    return {name: kind for name, kind in vars(import_module("evenhand.spec.registry")).items() if name[0] != "_"}


def __dir__() -> list[str]:
    found: list[str] = __getattr__("__all__")
    return found
