"""Models of the user's own that turn texts into vectors.

Such a model is any function from texts to vectors, or a sentence-transformers model in a folder.
Nothing is downloaded, and no code that lies in the folder is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import FloatArray
from mdba_checks.tables.reduction import Answers, Reduction

TextModel: TypeAlias = Callable[[list[str]], Any]

_BATCH = 1000


def open_text_model(folder: str) -> TextModel:
    """Return the model in a folder as a function from texts to vectors.

    Raises
    ------
    InputError
        When there is no such folder, it holds no model, or sentence-transformers is not installed.
    """
    if not Path(folder).is_dir():
        raise InputError(
            f"text_model {folder!r} is not a folder: models are read from disk only; save one there"
        )
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            f"text_model {folder!r} needs another package: pip install sentence-transformers, or "
            "leave text_model out"
        ) from None
    try:
        model = SentenceTransformer(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        line = str(error).partition("\n")[0]
        raise InputError(f"text_model {folder!r} cannot be loaded: {line}") from None

    def encode(texts: list[str]) -> Any:
        return model.encode(texts, show_progress_bar=False, convert_to_numpy=True)

    return encode


@dataclass(frozen=True)
class Embedding:
    """What a model returns, reduced where it is wide.

    Examples
    --------
    >>> def lengths(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> answers = Answers(np.array([1, 0]), np.array([0, 0]))
    >>> embedding = Embedding.fitted("review", lengths, ["good", "not so good"], answers, 40)
    >>> embedding(["not good"]), embedding.how
    (array([[8., 1.]], dtype=float32), 'the 2 numbers that the text model returns')
    """

    name: str
    model: TextModel
    reduction: Reduction | None
    n_numbers: int
    known: dict[str, int]  # texts of the sample, whose vectors are there already
    vectors: FloatArray

    @classmethod
    def fitted(
        cls,
        name: str,
        model: TextModel,
        texts: Sequence[str],
        answers: Answers,
        n_components: int,
    ) -> Embedding:
        """Learn how to reduce what the model returns, from some texts and decisions about them."""
        vectors = _vectors(name, model, texts)
        n_numbers = vectors.shape[1]
        reduction = None
        if n_numbers > n_components:
            reduction = Reduction.fitted(vectors, n_components, answers)
        known = {text: place for place, text in enumerate(texts)}
        return cls(name, model, reduction, n_numbers, known, vectors)

    @property
    def how(self) -> str:
        """What became of the texts."""
        if self.reduction is None:
            return f"the {self.n_numbers} numbers that the text model returns"
        return f"the {self.n_numbers} numbers that the text model returns, {self.reduction.how}"

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Return the components of some texts, float32 (texts, components)."""
        places = np.array([self.known.get(text, -1) for text in texts])
        vectors = np.empty((len(texts), self.n_numbers), dtype=self.vectors.dtype)
        vectors[places >= 0] = self.vectors[places[places >= 0]]
        unknown = [text for text, place in zip(texts, places, strict=True) if place < 0]
        if unknown:
            vectors[places < 0] = _vectors(self.name, self.model, unknown, self.n_numbers)
        found = vectors if self.reduction is None else self.reduction(vectors)
        return found.astype(np.float32)


def _vectors(
    name: str, model: TextModel, texts: Sequence[str], width: int | None = None
) -> FloatArray:
    found = []
    for first in range(0, len(texts), _BATCH):
        batch = list(texts[first : first + _BATCH])
        try:
            vectors = np.asarray(model(batch), dtype=np.float64)
        except (TypeError, ValueError) as error:
            line = str(error).partition("\n")[0]
            raise InputError(f"the text model failed on column {name!r}: {line}") from error
        if vectors.ndim != 2 or len(vectors) != len(batch) or vectors.shape[1] < 1:
            raise InputError(
                f"the text model returned an array of shape {vectors.shape} for {len(batch)} texts "
                f"of column {name!r}: one vector per text is needed"
            )
        width = width or vectors.shape[1]
        if vectors.shape[1] != width:
            raise InputError(
                f"the text model returned {width} and then {vectors.shape[1]} numbers per text of "
                f"column {name!r}: equally long vectors are needed"
            )
        if not np.isfinite(vectors).all():
            raise InputError(
                f"the text model returned values that are not numbers for column {name!r}"
            )
        found.append(vectors)
    return np.concatenate(found)
