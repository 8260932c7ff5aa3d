"""Expectations about labels together: the data set as a whole, and cohorts of labelers.

They share their estimate with the expectations about labelers of the same suite.
"""

from __future__ import annotations

from typing import ClassVar

from mdba_checks.gx.base import LabelerGapExpectation
from mdba_checks.metrics import MetricName
from mdba_checks.verdict import About


class ExpectOverallTprGapToBeWithin(LabelerGapExpectation):
    """Expect the true positive rate of all labels together to be alike in all groups.

    It is about the data set as a whole: what a model that trains on it would learn. Labelers who
    are biased in opposite directions can be within the limit together; use
    ExpectLabelerTprGapToBeWithin beside it to hear about each of them.

    ExpectOverallTprGapToBeWithin is a Batch Expectation. It fails when the whole is shown to be
    biased, when that is undecided (unless `on_inconclusive` says otherwise), when an assumption
    does not hold, and when anything goes wrong.

    Parameters
    ----------
    max_gap : float
        The largest tolerated difference of all labels together; `policy.max_gap_overall` of a file
        of settings.
    gold : str, path or dict
        As for ExpectLabelerTprGapToBeWithin, and so are all others; there is no max_gap_overall.

    Returns
    -------
    ExpectationValidationResult
        `observed_value` is the gap that is farthest from 0, `details` the verdict, its reasons, and
        `overall`, one record per group.

    See Also
    --------
    ExpectLabelerTprGapToBeWithin, ExpectCohortTprGapToBeWithin

    Code Examples:
        Passing Case:
            Input:
                ExpectOverallTprGapToBeWithin(
                    max_gap=0.1,
                    gold="gold.csv",
                    reference_group="men"
            )

            Output:
                {
                  "exception_info": {
                    "raised_exception": false,
                    "exception_traceback": null,
                    "exception_message": null
                  },
                  "result": {
                    "observed_value": -0.04,
                    "details": {
                      "verdict": "pass",
                      "reasons": ["all 1 comparisons are within ±0.1"],
                      "overall": [{"group": "women", "gap": -0.04, "ci_low": -0.07,
                                   "ci_high": -0.01, "finding": "fair"}]
                    }
                  },
                  "meta": {},
                  "success": true
                }

        Failing Case:
            Input:
                ExpectOverallTprGapToBeWithin(
                    max_gap=0.01,
                    gold="gold.csv",
                    reference_group="men"
            )

            Output:
                {
                  "exception_info": {
                    "raised_exception": false,
                    "exception_traceback": null,
                    "exception_message": null
                  },
                  "result": {
                    "observed_value": -0.04,
                    "details": {
                      "verdict": "inconclusive",
                      "reasons": ["all labels together: undecided at ±0.01. …"],
                      "overall": [{"group": "women", "gap": -0.04, "ci_low": -0.07,
                                   "ci_high": -0.01, "finding": "inconclusive"}]
                    }
                  },
                  "meta": {},
                  "success": false
                }
    """

    metric: ClassVar[MetricName] = "tpr"
    about: ClassVar[About] = "whole"

    class Config:
        """What Great Expectations shows about the class."""

        title = "Expect overall true positive rate gap to be within"


class ExpectOverallFprGapToBeWithin(LabelerGapExpectation):
    """Expect the false positive rate of all labels together to be alike in all groups.

    Arguments, results and what counts as a failure are those of ExpectOverallTprGapToBeWithin.

    ExpectOverallFprGapToBeWithin is a Batch Expectation.

    See Also
    --------
    ExpectOverallTprGapToBeWithin
    """

    metric: ClassVar[MetricName] = "fpr"
    about: ClassVar[About] = "whole"

    class Config:
        """What Great Expectations shows about the class."""

        title = "Expect overall false positive rate gap to be within"


class ExpectCohortTprGapToBeWithin(LabelerGapExpectation):
    """Expect the true positive rate of every cohort of labels to be alike in all groups.

    A cohort is where labels come from: a vendor, a team, a region. The expectation is about the
    labels of a cohort together, and not about single labelers in it.

    ExpectCohortTprGapToBeWithin is a Batch Expectation. It fails when a cohort is shown to be
    biased, when more is undecided than `max_undecided` tolerates (unless `on_inconclusive` says
    otherwise), when an assumption does not hold, and when anything goes wrong.

    Parameters
    ----------
    max_gap : float
        The largest tolerated difference between a group's rate and that of the reference.
    cohort_column : str
        The column of the batch that holds the cohorts.
    gold : str, path or dict
        As for ExpectLabelerTprGapToBeWithin, and so are all others; there is no max_gap_overall.

    Returns
    -------
    ExpectationValidationResult
        `observed_value` is the gap that is farthest from 0, `details` the verdict, its reasons, and
        `cohorts`, one record per cohort and group. The unexpected rows are those of biased cohorts.

    See Also
    --------
    ExpectLabelerTprGapToBeWithin, ExpectOverallTprGapToBeWithin

    Code Examples:
        Passing Case:
            Input:
                ExpectCohortTprGapToBeWithin(
                    max_gap=0.1,
                    cohort_column="vendor",
                    gold="gold.csv",
                    reference_group="men"
            )

            Output:
                {
                  "exception_info": {
                    "raised_exception": false,
                    "exception_traceback": null,
                    "exception_message": null
                  },
                  "result": {
                    "element_count": 3000,
                    "unexpected_count": 0,
                    "observed_value": -0.04,
                    "details": {
                      "verdict": "pass",
                      "reasons": ["all 2 comparisons are within ±0.1"],
                      "cohorts": [{"cohort": "north", "group": "women", "gap": -0.04,
                                   "ci_low": -0.07, "ci_high": -0.01, "finding": "fair"}, …]
                    }
                  },
                  "meta": {},
                  "success": true
                }

        Failing Case:
            Input:
                ExpectCohortTprGapToBeWithin(
                    max_gap=0.01,
                    cohort_column="vendor",
                    gold="gold.csv",
                    reference_group="men"
            )

            Output:
                {
                  "exception_info": {
                    "raised_exception": false,
                    "exception_traceback": null,
                    "exception_message": null
                  },
                  "result": {
                    "element_count": 3000,
                    "unexpected_count": 0,
                    "observed_value": -0.04,
                    "details": {
                      "verdict": "inconclusive",
                      "reasons": ["1 cohort undecided at ±0.01 …"],
                      "cohorts": [{"cohort": "north", "group": "women", "gap": -0.04,
                                   "ci_low": -0.07, "ci_high": -0.01,
                                   "finding": "inconclusive"}, …]
                    }
                  },
                  "meta": {},
                  "success": false
                }
    """

    metric: ClassVar[MetricName] = "tpr"
    about: ClassVar[About] = "cohort"

    class Config:
        """What Great Expectations shows about the class."""

        title = "Expect cohort true positive rate gap to be within"


class ExpectCohortFprGapToBeWithin(LabelerGapExpectation):
    """Expect the false positive rate of every cohort of labels to be alike in all groups.

    Arguments, results and what counts as a failure are those of ExpectCohortTprGapToBeWithin.

    ExpectCohortFprGapToBeWithin is a Batch Expectation.

    See Also
    --------
    ExpectCohortTprGapToBeWithin
    """

    metric: ClassVar[MetricName] = "fpr"
    about: ClassVar[About] = "cohort"

    class Config:
        """What Great Expectations shows about the class."""

        title = "Expect cohort false positive rate gap to be within"
