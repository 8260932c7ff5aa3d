"""The rates that are compared between groups.

tpr and fnr are about items where yes is right, fpr and tnr about those where no is right; tpr and
fpr count decisions that say yes, tnr and fnr those that say no.
"""

from __future__ import annotations

from typing import Literal

Metric = Literal["tpr", "fpr", "tnr", "fnr"]
