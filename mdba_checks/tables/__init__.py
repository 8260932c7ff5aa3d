"""Labels and gold: read them from where they are, check them, encode them for the models.

The labels table has one row per decision: who decided, what, about a member of which group, and
the features the decision may have depended on. The gold table has the right decision for a few
items with the same features. `load` turns both into arrays in an order that depends on their
content only; everything that cannot be used is an `InputError` with the way out.
"""

from mdba_checks.tables.hashing import content_hash
from mdba_checks.tables.loading import Data, GoldRows, LabelRows, load
from mdba_checks.tables.reading import Source, read_table, source_name
from mdba_checks.tables.text import canonical, match_name

__all__ = [
    "Data",
    "GoldRows",
    "LabelRows",
    "Source",
    "canonical",
    "content_hash",
    "load",
    "match_name",
    "read_table",
    "source_name",
]
