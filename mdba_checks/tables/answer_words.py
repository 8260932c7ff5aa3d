"""What decisions are called: by the values of the label column, or by words that the user gave."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.metrics import AnswerWords, answers_in_words
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.decisions import listed
from mdba_checks.tables.questions import Question
from mdba_checks.tables.text import as_names, canonical


def words_for(
    labels: pa.ChunkedArray, decision: IntArray, question: Question, config: CheckConfig
) -> AnswerWords:
    """Return the words for the answers to a question.

    Parameters
    ----------
    labels
        The label column.
    decision
        What its rows count as, 0 or 1.
    question
        What is asked.
    config
        Whose `words` come first.

    Examples
    --------
    >>> column = pa.chunked_array([["reject", "invite", "reject"]])
    >>> words_for(column, np.array([0, 1, 0]), Question(("group",)), CheckConfig()).positive
    '"invite"'
    """
    typed = tuple(map(canonical, listed(question.label_class or config.positive)))
    if config.pseudonymize:
        # The column may have been confused with that of labelers: nothing but what was typed.
        positive, negative = (list(typed), []) if typed else (["1"], ["0"])
    else:
        column = as_names(labels)
        values, codes = column.dictionary.to_pylist(), column.indices.to_numpy()
        positive, negative = (
            sorted(values[code] for code in np.unique(codes[decision == answer]))
            for answer in (1, 0)
        )
        if typed and len(positive) > len(typed):  # one side of an order
            positive = list(typed)
    yes, no = answers_in_words(positive, negative)
    if question.label_class is not None:  # words for yes and no fit none of several classes
        return AnswerWords(yes, no)
    given = {key: value for key, value in config.words.model_dump().items() if value is not None}
    return AnswerWords(yes, no, **given)
