"""The registry: every measure, distance, form of parity, rule, budget and way to make levels that users may write.

A line makes its class public as ``evenhand.<its name>``, at run time and for type checkers, and gives it its ``word``
in TOML. Whatever else others need of it, the class itself says. This module holds nothing else.

The order is that in which users are told of them.
"""
# isort: off

from evenhand.spec.utility.smooth import KL as KL
from evenhand.spec.utility.smooth import ReverseKL as ReverseKL
from evenhand.spec.utility.polyhedral import L1 as L1
from evenhand.spec.utility.polyhedral import TotalVariation as TotalVariation
from evenhand.spec.utility.smooth import PearsonChi2 as PearsonChi2
from evenhand.spec.utility.smooth import NeymanChi2 as NeymanChi2
from evenhand.spec.utility.smooth import Hellinger as Hellinger
from evenhand.spec.utility.smooth import JensenShannon as JensenShannon
from evenhand.spec.utility.smooth import SquaredL2 as SquaredL2
from evenhand.spec.utility.polyhedral import MaxRelativeChange as MaxRelativeChange
from evenhand.spec.utility.user import Separable as Separable
from evenhand.spec.utility.user import Bregman as Bregman
from evenhand.spec.utility.user import Quasiconvex as Quasiconvex

from evenhand.spec.distance import Ratio as Ratio
from evenhand.spec.distance import Difference as Difference
from evenhand.spec.distance import LogRatio as LogRatio
from evenhand.spec.distance import FourFifths as FourFifths
from evenhand.spec.user_distance import UserDistance as UserDistance

from evenhand.spec.parity import PairwiseParity as PairwiseParity
from evenhand.spec.parity import TargetParity as TargetParity
from evenhand.spec.feature_parity import FeatureParity as FeatureParity

from evenhand.spec.distortion import Ordinal as Ordinal
from evenhand.spec.distortion import Nominal as Nominal
from evenhand.spec.distortion import Fixed as Fixed
from evenhand.spec.distortion import Free as Free

from evenhand.spec.budget import ExpectedDistortion as ExpectedDistortion
from evenhand.spec.budget import ExcessDistortion as ExcessDistortion

from evenhand.spec.bins.cuts import Edges as Edges
from evenhand.spec.bins.cuts import Quantiles as Quantiles
from evenhand.spec.bins.cuts import ChosenBins as ChosenBins
from evenhand.spec.bins.merges import MergedLevels as MergedLevels
from evenhand.spec.bins.merges import PooledLevels as PooledLevels

from evenhand.spec.cells.leaves import Leaves as Leaves
from evenhand.spec.cells.score_levels import ScoreLevels as ScoreLevels
