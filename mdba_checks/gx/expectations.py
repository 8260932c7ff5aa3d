"""Two expectations about labelers: how often they say yes where yes is right, and where no is."""

from __future__ import annotations

from typing import ClassVar

from mdba_checks.gx.base import LabelerGapExpectation
from mdba_checks.gx.together import (
    ExpectCohortFprGapToBeWithin,
    ExpectCohortTprGapToBeWithin,
    ExpectOverallFprGapToBeWithin,
    ExpectOverallTprGapToBeWithin,
)
from mdba_checks.metrics import MetricName


class ExpectLabelerTprGapToBeWithin(LabelerGapExpectation):
    """Expect every labeler's true positive rate to be alike in all groups.

    The true positive rate is the share of items on which the labeler says yes among those where yes
    is right. It is estimated from the labels of the batch and a small gold table of other items
    with the same features; labeled items need not be gold items.

    ExpectLabelerTprGapToBeWithin is a Batch Expectation. It fails when a labeler is shown to be
    biased, when more is undecided than `max_undecided` tolerates (unless `on_inconclusive` says
    otherwise), when an assumption does not hold, and when anything goes wrong.

    Parameters
    ----------
    max_gap : float
        The largest tolerated difference between a group's rate and that of the reference.
    gold : str, path or dict
        Where the gold table is: a path, or a reference {"data_source": …, "asset": …,
        "batch_definition": …}. Relative paths start at the folder that holds the gx folder of a
        file context, else at the working directory. DataFrames are refused, because arguments are
        stored with every result.
    labeler_column, label_column, group_column : str
        Columns of the batch: who decided, what, about a member of which group. Default: labeler,
        label, group. Gold has the group column too.
    gold_column : str
        The column of gold with the right decision. Default: gold.
    gold_weight_column : str or None
        The column of gold that says how many items a gold row stands for.
    item_column : str or None
        Identifies the thing decided on. Default: a column called item, if there is one.
    features : list of str or None
        Columns that a decision may depend on. Default: all that both tables have.
    reference_group : bool, int, str or None
        The group that others are compared with. Default: everyone else.
    positive_label : bool, int, str or None
        The label that means yes, where labels are names, or an order such as '>= 4'.
    confidence : float
        Coverage of the intervals. Default: 0.9.
    estimator : str
        mdba_dr (default), mdba, mdba_naive, selection_rate, gold_model, confident_learning.
    correction : str
        How testing many labelers at once is accounted for: holm (default), bh, none.
    decide_on : str
        Decide on intervals, confident (default), or on the number alone, estimate.
    margin : float or None
        How far beyond max_gap somebody may turn out to be who is called borderline, which does not
        fail. Default: half of max_gap.
    max_gap_overall : float or None
        The largest tolerated difference for all labels together. Default: max_gap.
    max_undecided : float
        The share of labels that may come from labelers who are undecided for lack of evidence, not
        counting those shown to be at most four margins beyond max_gap. Default: 0.1.
    mode : str
        What happens when somebody is shown biased: block (default) and quarantine fail, because a
        batch is used as it is; annotate succeeds with a note.
    on_inconclusive : str or None
        What happens beyond max_undecided, with the same meaning; pass succeeds, except where an
        assumption does not hold. Default: as mode.
    min_gold_positives : int
        Gold items needed per group, of the kind the rate is about. Default: 5.
    on_serious : str
        A serious assumption check makes a finding inconclusive (default), or is reported only.
    drop_missing : bool
        Drop rows without labeler, label or group instead of failing. Default: False.
    pseudonymize : bool
        Name labelers by keyed hashes in everything that is stored. Default: False.
    seed : int
        Same data and seed, same numbers. Default: 0.
    cohort_column : str or None
        Where labels come from, such as a vendor: every cohort is judged as well.
    cluster_column : str or None
        Names families of items that are alike, such as versions of one text.
    text_columns, text_model, c, missing_values
        As in a file of settings: columns of free text, the folder of a model that reads them, the
        constant of the estimator mdba, and texts that mean "missing" in a CSV file of gold.
    config : str or path
        An mdba.yaml with all of these, in their place: it is read when the expectation is made, and
        what it says is written to the suite field by field. A field that is given as well counts
        more. A later change of the file does not change the suite: make the expectation anew.
    row_condition : Condition or None
        Rows of the batch to look at; gold is used whole.
    filter_gold : bool
        Look at the gold rows that meet row_condition only. Default: False.
    severity : str
        critical (default), warning or info; see `BlockOnLabelerGap` for what it does.

    Returns
    -------
    ExpectationValidationResult
        `observed_value` is the gap that is farthest from 0, `details` the verdict, its reasons and
        one record per labeler and group. `unexpected_count` and whatever else `result_format` asks
        for are about the rows of biased labelers.

    See Also
    --------
    ExpectLabelerFprGapToBeWithin

    Notes
    -----
    Every argument but row_condition and severity may be {"$PARAMETER": name}. There is no `mostly`:
    a biased labeler is one too many.

    Example Data:
                item  labeler  years  degree  group  label
            0   1     ann      3      True    women  0
            1   2     ann      5      False   men    1
            2   3     bob      3      True    women  1

    Code Examples:
        Passing Case:
            Input:
                ExpectLabelerTprGapToBeWithin(
                    max_gap=0.5,
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
                    "observed_value": -0.31,
                    "details": {
                      "verdict": "pass",
                      "reasons": ["all 2 comparisons are within ±0.5"],
                      "gaps": [{"labeler": "ann", "group": "women", "gap": -0.31,
                                "ci_low": -0.39, "ci_high": -0.23, "finding": "fair"}, …]
                    }
                  },
                  "meta": {},
                  "success": true
                }

        Failing Case:
            Input:
                ExpectLabelerTprGapToBeWithin(
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
                    "observed_value": -0.31,
                    "details": {
                      "verdict": "block",
                      "reasons": ["1 labeler biased beyond ±0.1: ann. …"],
                      "gaps": [{"labeler": "ann", "group": "women", "gap": -0.31,
                                "ci_low": -0.39, "ci_high": -0.23, "finding": "biased"}, …]
                    }
                  },
                  "meta": {},
                  "success": false
                }
    """

    metric: ClassVar[MetricName] = "tpr"

    class Config:
        """What Great Expectations shows about the class."""

        title = "Expect labeler true positive rate gap to be within"


class ExpectLabelerFprGapToBeWithin(LabelerGapExpectation):
    """Expect every labeler's false positive rate to be alike in all groups.

    The false positive rate is the share of items on which the labeler says yes among those where no
    is right. Arguments, results and what counts as a failure are those of
    ExpectLabelerTprGapToBeWithin.

    ExpectLabelerFprGapToBeWithin is a Batch Expectation.

    See Also
    --------
    ExpectLabelerTprGapToBeWithin

    Code Examples:
        Passing Case:
            Input:
                ExpectLabelerFprGapToBeWithin(
                    max_gap=0.1,
                    gold={"data_source": "files", "asset": "gold", "batch_definition": "all"},
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
                    "observed_value": 0.02,
                    "details": {
                      "verdict": "pass",
                      "reasons": ["all 2 comparisons are within ±0.1"],
                      "gaps": [{"labeler": "ann", "group": "women", "gap": 0.02,
                                "ci_low": -0.01, "ci_high": 0.05, "finding": "fair"}, …]
                    }
                  },
                  "meta": {},
                  "success": true
                }

        Failing Case:
            Input:
                ExpectLabelerFprGapToBeWithin(
                    max_gap=0.01,
                    gold={"data_source": "files", "asset": "gold", "batch_definition": "all"},
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
                    "observed_value": 0.02,
                    "details": {
                      "verdict": "inconclusive",
                      "reasons": ["2 labelers undecided at ±0.01: ann, bob. …"],
                      "gaps": [{"labeler": "ann", "group": "women", "gap": 0.02,
                                "ci_low": -0.01, "ci_high": 0.05, "finding": "inconclusive"}, …]
                    }
                  },
                  "meta": {},
                  "success": false
                }
    """

    metric: ClassVar[MetricName] = "fpr"

    class Config:
        """What Great Expectations shows about the class."""

        title = "Expect labeler false positive rate gap to be within"


# The names that suites use for all expectations about label bias.
LABELER_GAPS = frozenset(
    rule.expectation_type
    for rule in (
        ExpectLabelerTprGapToBeWithin,
        ExpectLabelerFprGapToBeWithin,
        ExpectCohortTprGapToBeWithin,
        ExpectCohortFprGapToBeWithin,
        ExpectOverallTprGapToBeWithin,
        ExpectOverallFprGapToBeWithin,
    )
)
