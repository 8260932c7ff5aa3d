# ruff: noqa: INP001  (loaded by MkDocs from its path; the pages are no package)
"""Links from the pages to files outside docs/: on the site these files lie under files/."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(\.\./(?P<path>[\w./-]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every file that a page links to."""
    pages = Path(config.docs_dir).glob("*.md")
    linked = {path for page in pages for path in LINK.findall(page.read_text(encoding="utf-8"))}
    for path in sorted(linked):
        if (ROOT / path).is_file():  # a dead link stays one, and the build says so
            source = str(ROOT / path)
            files.append(File.generated(config, f"files/{path}", abs_src_path=source))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point the links to where the files are on the site."""
    return LINK.sub(r"](files/\g<path>)", markdown)
