"""The first import of Great Expectations, with its noise kept from the user.

While it is imported, Great Expectations and the pyspark it finds warn about Python modules and
pandas versions of their own; nobody who only uses an expectation can act on that.
"""

from __future__ import annotations

import warnings

from mdba_checks.errors import MissingExtraError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import great_expectations as gx
    except ModuleNotFoundError as error:
        if error.name != "great_expectations":
            raise
        raise MissingExtraError("mdba_checks.gx", "gx") from None

__all__ = ["gx"]
