"""Great Expectations: label bias as an expectation among others, and never one that fails open.

Importing this package makes the expectations and the action known to Great Expectations. Do so in
every program that loads a suite or a checkpoint with them: what is not known there is left out of a
suite without an error.
"""

from mdba_checks.gx import _import  # noqa: F401  must be the first that imports GX
from mdba_checks.gx.action import BlockOnLabelerGap, LabelerGapError
from mdba_checks.gx.contract import suite_from_contract
from mdba_checks.gx.expectations import ExpectLabelerFprGapToBeWithin, ExpectLabelerTprGapToBeWithin
from mdba_checks.gx.suites import load_suite
from mdba_checks.gx.together import (
    ExpectCohortFprGapToBeWithin,
    ExpectCohortTprGapToBeWithin,
    ExpectOverallFprGapToBeWithin,
    ExpectOverallTprGapToBeWithin,
)
from mdba_checks.gx.validate import Validation, validate

__all__ = [
    "BlockOnLabelerGap",
    "ExpectCohortFprGapToBeWithin",
    "ExpectCohortTprGapToBeWithin",
    "ExpectLabelerFprGapToBeWithin",
    "ExpectLabelerTprGapToBeWithin",
    "ExpectOverallFprGapToBeWithin",
    "ExpectOverallTprGapToBeWithin",
    "LabelerGapError",
    "Validation",
    "load_suite",
    "suite_from_contract",
    "validate",
]
