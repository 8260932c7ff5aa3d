"""The page about where it holds shows the committed results."""

from __future__ import annotations

from benchmarks.where_it_holds import PAGE, page


def test_the_page_is_made_from_the_committed_results():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m benchmarks.where_it_holds"
