"""Columns of free text: which ones are, and what becomes of them.

Free text differs in most rows and holds words. Row ids, file names and addresses differ in most
rows too, but hold none: what their letters say about decisions is chance. Texts become components
(see `ngrams`), or what a model of the user's own makes of them (see `text_models`). Of many
components those are used that decisions depend on, beside the largest (see `reduction`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.components import MISSING, MOST_COMPONENTS, Distinct, spread
from mdba_checks.tables.feature import Keep, ReadColumn, UnusableError
from mdba_checks.tables.ngrams import Ngrams
from mdba_checks.tables.reduction import MOST_CANDIDATES, Answers, choose_components
from mdba_checks.tables.text_models import Embedding, TextModel

MOST_CHARACTERS = 10_000  # of a text are read: some 1,500 words
# Different texts that weights and directions are learned from; models of the user's own are slow.
NGRAM_SAMPLE, MODEL_SAMPLE = 20_000, 10_000
TEXTS_PER_COMPONENT = 10
# A sentence has five words or more. Phrases of three are also what categories are called, unless
# hardly any of them comes twice.
SENTENCE_WORDS, PHRASE_WORDS, ROWS_PER_PHRASE = 5, 3, 20
FEW_TEXTS, VERY_FEW_TEXTS = 50, 20
_JUDGED_TEXTS = 1000
_BATCH = 20_000

# Between spaces, letters with at most some punctuation around them; "a1b2-c3", "x.jpg", "me@here"
# and "/a/b" are not words.
_WORD = re.compile(r"\W*[^\W\d_]{2,}(?:['’-][^\W\d_]+)*\W*")
# Scripts without spaces between words: Thai to Khmer, Japanese, Chinese. Two letters are a word.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def count_words(text: str) -> int:
    """Return how many words a text has, about; what looks like a code or a path is not a word.

    Examples
    --------
    >>> count_words("Not good: a waste of money!"), count_words("IMG_2031-final.jpg")
    (5, 0)
    >>> count_words("这本书写得非常好")
    4
    """
    start = text[:MOST_CHARACTERS]
    unspaced = len(_UNSPACED.findall(start)) // 2
    return unspaced or sum(_WORD.fullmatch(each) is not None for each in start.split())


class Texts:
    """A column of text in labels and gold; missing and blank are the same."""

    def __init__(self, name: str, labels: pa.ChunkedArray, gold: pa.ChunkedArray) -> None:
        self.name = name
        self.columns = (labels, gold)
        prints = [_fingerprints(column) for column in self.columns]
        self.prints = (prints[0], prints[1])
        self.distinct = Distinct.of(*self.prints)

    def are_free(self) -> bool:
        """Return whether this is free text rather than categories, names or codes."""
        different, present = len(self.distinct), self.distinct.n_present
        if different <= FEW_TEXTS and (different < VERY_FEW_TEXTS or different <= present / 2):
            return False
        judged = self._at(np.sort(self.distinct.sample(_JUDGED_TEXTS)))
        words = sorted(map(count_words, judged))
        typical = words[len(words) // 2]
        repeats = different < present / ROWS_PER_PHRASE
        return typical >= (SENTENCE_WORDS if repeats else PHRASE_WORDS)

    def read(self, keep: Keep, model: TextModel | None, answers: Answers) -> ReadColumn:
        """Return the components of the texts; `answers` are what was decided about the labels."""
        different = len(self.distinct)
        most = NGRAM_SAMPLE if model is None else MODEL_SAMPLE
        if different < 2:
            raise UnusableError("holds the same text everywhere" if different else "has no values")
        sample, decided = self._sample(most, answers)
        wanted = max(1, different // TEXTS_PER_COMPONENT)
        n_components = min(MOST_COMPONENTS, wanted)
        components: Ngrams | Embedding
        if model is None:
            found = Ngrams.fitted(sample, min(MOST_CANDIDATES, wanted))
            chosen = choose_components(found(sample), decided, n_components)
            components = found.only(chosen)
            how = f"{len(chosen)} components of words and parts of words"
            which = f"{how}: {chosen.tolist()}"
        else:
            components = Embedding.fitted(self.name, model, sample, decided, n_components)
            how = which = components.how
        order = np.sort(self.distinct.first)
        parts = [keep(components(batch).T) for batch in self._batches(order)]
        code = self._places(order)
        basis = f"{which} {self.distinct.basis(most)}"
        holds = f"text: {different:,} different, {how}"
        said = f"column {self.name!r} is read as text: {different:,} different texts, {how}"
        if cut := self._n_cut():
            said += f"; {cut:,} texts are cut after {MOST_CHARACTERS:,} characters"
        features = tuple(spread(self.name, parts, code, keep, basis))
        return ReadColumn(features, self.prints, said, holds)

    def _sample(self, most: int, answers: Answers) -> tuple[list[str], Answers]:
        """Return some different texts, sorted, and what was decided about them.

        Sorted, because what is learned depends on the order in the last digits.
        """
        rows = self.distinct.sample(most)
        texts = list(self._at(np.sort(rows)))
        order = sorted(range(len(texts)), key=texts.__getitem__)
        return [texts[place] for place in order], answers.of(self.distinct, most).take(
            np.argsort(rows)[order]
        )

    def _places(self, order: IntArray) -> tuple[IntArray, IntArray]:
        """Return per row where its text stands in `order`, -1 where there is none."""
        place = np.append(np.searchsorted(order, self.distinct.first), -1).astype(np.int32)
        labels, gold = (place[code] for code in self.distinct.code)
        return labels, gold

    def _batches(self, rows: IntArray) -> Iterator[list[str]]:
        batch: list[str] = []
        for text in self._at(rows):
            batch.append(text)
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _at(self, rows: IntArray) -> Iterator[str]:
        """Yield the texts of rows, which ascend and go on from the labels into gold."""
        begin = 0
        for array in (each for column in self.columns for each in _plain_arrays(column)):
            end = begin + len(array)
            here = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin
            if len(here):
                chosen = array.take(pa.array(here))
                yield from pc.utf8_slice_codeunits(chosen, 0, MOST_CHARACTERS).to_pylist()
            begin = end

    def _n_cut(self) -> int:
        """Return how many rows hold a text that is longer than what is read of it."""
        return sum(
            pc.sum(pc.greater(pc.utf8_length(array), MOST_CHARACTERS)).as_py() or 0
            for column in self.columns
            for array in _plain_arrays(column)
        )


def _plain_arrays(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield the texts of a column in arrays of a bounded number of rows, without dictionaries."""
    for chunk in column.chunks:
        for first in range(0, len(chunk), _BATCH):
            yield chunk.slice(first, _BATCH).cast(pa.large_string())


def _fingerprints(column: pa.ChunkedArray) -> IntArray:
    """Return a number per row that depends on its text only; `MISSING` where there is none."""
    found = [np.empty(0, dtype=np.uint64)]
    for array in _plain_arrays(column):
        encoded = array.dictionary_encode()
        texts = encoded.dictionary.to_numpy(zero_copy_only=False)
        own = np.append(_hashes(texts), np.uint64(MISSING))
        found.append(own[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)])
    return np.concatenate(found)


def _hashes(texts: FloatArray) -> IntArray:
    hashes: IntArray = pd.util.hash_array(texts, categorize=False)
    blank = np.fromiter((not text.strip() for text in texts), dtype=bool, count=len(texts))
    return np.where(blank, np.uint64(MISSING), hashes)
