"""Texts as numbers: words and parts of words, counted, weighed and reduced to a few components.

Every text becomes a long sparse row: how often each word, and each sequence of two to four
characters inside a word, occurs in it, weighed by how rare it is (tf-idf). Columns are found by
hashing, so no vocabulary is kept. A truncated singular value decomposition then finds the
directions in which texts differ most, of which a few are used. Parts of words connect inflected and
misspelt forms, and they stand in for words in languages that are written without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from threadpoolctl import threadpool_limits

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.feature import UnusableError

# Letters and digits with their marks; the range beyond 0900 holds the scripts of India and
# South-East Asia, whose vowel signs Python does not count among letters. Every other sign, such as
# an emoji, is a word of its own.
TOKEN = re.compile(
    "[\\w\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u109f]+|[^\\w\\s]"
)
_HASHED_COLUMNS = 2**17  # for words, and as many for parts of words
_PART_LENGTHS = (2, 4)


@dataclass(frozen=True)
class Ngrams:
    """Fitted weights and directions.

    Examples
    --------
    >>> texts = ["a red house", "two red houses", "my green car", "green cars", "a car", "a house"]
    >>> ngrams = Ngrams.fitted(texts, 2)
    >>> found = ngrams(["the house", "the cars"])
    >>> found.shape, found.dtype
    ((2, 2), dtype('float32'))
    """

    weights: tuple[TfidfTransformer, TfidfTransformer]  # of words, of parts
    columns: IntArray  # those that the texts in question use
    directions: FloatArray  # (components, columns)

    @classmethod
    def fitted(cls, texts: Sequence[str], n_components: int) -> Ngrams:
        """Learn weights and directions; the same texts in the same order give the same ones."""
        counts = _counts(texts)
        weights = tuple(TfidfTransformer(sublinear_tf=True).fit(each) for each in counts)
        weighed = _weighed(counts, weights)
        columns = _common(weighed)
        if not len(columns):
            raise UnusableError("holds no words")
        decomposition = TruncatedSVD(min(n_components, len(columns)), random_state=0)
        with threadpool_limits(limits=1, user_api="blas"):  # more threads sum in another order
            decomposition.fit(weighed[:, columns])
        return cls((weights[0], weights[1]), columns, decomposition.components_)

    def only(self, chosen: IntArray) -> Ngrams:
        """Return the same with some of the components."""
        return replace(self, directions=self.directions[chosen])

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Return the components of some texts, float32 (texts, components)."""
        with threadpool_limits(limits=1, user_api="blas"):
            weighed = _weighed(_counts(texts), self.weights)[:, self.columns]
            found: FloatArray = weighed @ self.directions.T
        return found.astype(np.float32, copy=False)


def _common(weighed: csr_matrix) -> IntArray:
    """Return the columns that several texts use; all that are used, if they share none.

    What a single text uses connects it with no other, and most columns are of that kind.
    """
    texts = np.bincount(weighed.indices, minlength=weighed.shape[1])
    return np.flatnonzero(texts > 1) if (texts > 1).any() else np.flatnonzero(texts)


def _counts(texts: Sequence[str]) -> tuple[csr_matrix, csr_matrix]:
    """Count words and parts of words.

    Parts are looked for in every different word once, however often texts use it.
    """
    words = CountVectorizer(tokenizer=TOKEN.findall, preprocessor=_plain, token_pattern=None)
    words.dtype = np.float32
    try:
        used = words.fit_transform(texts)
    except ValueError:  # no text holds any word
        empty = csr_matrix((len(texts), _HASHED_COLUMNS), dtype=np.float32)
        return empty, empty
    used.sort_indices()  # by word: sums must not depend on the other texts of a batch
    vocabulary = words.get_feature_names_out()
    return (
        used @ _hashing(analyzer=_whole).transform(vocabulary),
        used @ _hashing(analyzer="char_wb", ngram_range=_PART_LENGTHS).transform(vocabulary),
    )


def _hashing(**how: Any) -> HashingVectorizer:
    return HashingVectorizer(
        n_features=_HASHED_COLUMNS,
        norm=None,
        alternate_sign=False,
        lowercase=False,
        dtype=np.float32,
        **how,
    )


def _whole(word: str) -> tuple[str]:
    return (word,)


def _plain(text: str) -> str:
    """Return a text in one case and one spelling of characters; styled letters become plain."""
    return unicodedata.normalize("NFKC", text).casefold()


def _weighed(
    counts: tuple[csr_matrix, csr_matrix], weights: Sequence[TfidfTransformer]
) -> csr_matrix:
    # Each kind has length 1, so that words do not drown among their many parts.
    kinds = [weigh.transform(each) for weigh, each in zip(weights, counts, strict=True)]
    return hstack(kinds, format="csr")
