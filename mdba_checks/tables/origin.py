"""Where the tables of a check were, as it may be written down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mdba_checks.tables.sources import is_database, without_secrets


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a check came from, beyond the settings and the content of the tables.

    Attributes
    ----------
    labels, gold
        The paths as they were given, or ``URL::table`` without user, password and options; None for
        tables that were in memory.
    learner
        The type of a learner that was given in place of XGBoost.
    text_model
        The name of a function that was given to read free text with.
    """

    labels: str | None = None
    gold: str | None = None
    learner: str | None = None
    text_model: str | None = None

    @classmethod
    def of(
        cls, labels: object, gold: object, *, learner: object = None, text_model: object = None
    ) -> Origin:
        """Return the origin of a check, from what `assess` was given.

        Examples
        --------
        >>> origin = Origin.of("labels.csv", "mysql://ann:secret@host/jobs::gold")
        >>> origin.labels, origin.gold
        ('labels.csv', 'mysql://***@host/jobs::gold')
        """
        used = None if learner is None else type(learner).__name__
        return cls(_written(labels), _written(gold), used, _name(text_model))


def _written(source: object) -> str | None:
    if is_database(source):
        return without_secrets(source)
    return str(source) if isinstance(source, (str, Path)) else None


def _name(function: object) -> str | None:
    if function is None:
        return None
    return str(getattr(function, "__qualname__", type(function).__name__))
