"""The pages become a site without a warning; no link is dead, and nothing is loaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"(?<!\\)\]\((?!https?://|mailto:)([^)\s]+)\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        # A proxy that is not there: whatever asked the network would fail, and the build with it.
        env={**os.environ, "PYTHONPATH": str(ROOT), "https_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


class Loaded(HTMLParser):
    """Collects what a browser fetches for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source") and values.get("src"):
            self.addresses.append(values["src"])
        if tag == "link" and values.get("rel") != "canonical":
            self.addresses.append(values["href"])


def test_no_page_loads_anything_from_another_host(site):
    pages = list(site.glob("*.html"))
    assert len(pages) >= 12
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert [each for each in loaded.addresses if "//" in each] == [], page.name


def test_the_reference_holds_every_public_name(site):
    import mdba_checks

    reference = (site / "api.html").read_text(encoding="utf-8")
    for name in mdba_checks.__all__:
        assert re.search(rf'id="mdba_checks\.(\w+\.)*{name}"', reference), name


def test_files_outside_the_pages_are_on_the_site(site):
    copied = site / "files" / "examples" / "hiring.py"
    assert copied.read_bytes() == (ROOT / "examples" / "hiring.py").read_bytes()


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page, as MkDocs and GitHub make them from headings."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", each).strip().lower() for each in headings]
    return {re.sub(r"\s", "-", each) for each in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}"


def test_every_page_is_in_the_navigation(site):
    first = (site / "index.html").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/*.md"):
        name = page.with_suffix(".html").name
        assert f'href="{name}"' in first or name == "index.html", name
