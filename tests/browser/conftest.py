"""A real browser: Chromium, driven by Playwright, with no profile and no network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES_SHOWN = """() => [...document.querySelectorAll("#labelers-table tbody th bdi")]
  .filter(name => name.checkVisibility())
  .map(name => name.textContent)"""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """Return where Chromium is, or None."""
    given = os.environ.get("MDBA_CHROMIUM")
    return given or next(filter(None, map(shutil.which, _NAMES)), None)


# Closed with its file: Playwright keeps an event loop running in this thread, and tests of other
# rooms in the same process (Prefect's) would take themselves for asynchronous.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="NO BROWSER TESTS: playwright is missing; pip install 'mdba-checks[dev]'",
    )
    path = find_chromium()
    if path is None:
        pytest.skip(
            "NO BROWSER TESTS: Chromium is missing; run scripts/install-browser.sh, or set "
            "MDBA_CHROMIUM to its path"
        )
    with playwright.sync_playwright() as engine:
        # Containers lack what the sandbox needs; the pages opened here are our own.
        browser = engine.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A report in a tab, and everything the tab asked for or complained about."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(90_000)  # the machine may be busy with other tests
        self.path = path
        self.url = path.resolve().as_uri()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(self.url, wait_until="load")

    def names(self) -> list[str]:
        """Return the labelers that the table shows, from top to bottom."""
        return self.page.evaluate(_NAMES_SHOWN)


@pytest.fixture
def open_report(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Return a function that opens a page from disk; its options are those of a browser context."""
    contexts = []

    def opened(text: str, **options: Any) -> Opened:
        path = tmp_path / f"report {len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(**options))
        return Opened(contexts[-1], path)

    yield opened
    for context in contexts:
        context.close()
