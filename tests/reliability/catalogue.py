"""The catalogue: kinds of bad and odd input, each with what is promised to come out.

Entries about files spoil how a table is written, entries about tables how it is built, entries
about values what it holds. The tests beside this file put each of them through every door: Python,
the command line, Great Expectations and Prefect.
"""

from __future__ import annotations

from tests.reliability.catalogue_files import FILES
from tests.reliability.catalogue_tables import TABLES
from tests.reliability.catalogue_values import VALUES

ENTRIES = (*FILES, *TABLES, *VALUES)
