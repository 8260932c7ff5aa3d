"""Draw the pictures of the report and its plots again, from `mdba demo`, for README and docs.

make images
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.outputs import to_record
from mdba_checks.report import labeler_page
from tests.browser.conftest import find_chromium

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1080  # of the page in the picture
BELOW = 16  # the last row of the table


def main() -> None:
    """Make the demo, and pictures of it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        demo = [sys.executable, "-m", "mdba_checks", "demo", "--folder", str(folder / "mdba-demo")]
        subprocess.run(demo, check=True, capture_output=True)
        made = folder / "mdba-demo"
        settings = CheckConfig.from_yaml(made / "mdba.yaml")
        found = assess(made / "labels.csv", made / "gold.csv", settings)
        for name in ("gaps", "rates", "power"):
            figure = getattr(found.plot, name)()
            figure.savefig(IMAGES / f"report-{name}.png", dpi=880 / figure.get_figwidth())
        photograph(made / "report.html", IMAGES / "report.png")
        (made / "page.html").write_text(
            labeler_page(to_record(found, gate(found)), "Ada"), encoding="utf-8"
        )
        photograph(made / "page.html", IMAGES / "labeler-page.png", to="#found", opened=False)


def photograph(
    page: Path, target: Path, *, to: str = "#labelers-table", opened: bool = True
) -> None:
    """Take the page from its top to the end of a part, with the first labeler opened."""
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
        tab.goto(page.resolve().as_uri())
        if opened:
            tab.locator("#labelers-table button.name").first.click()
        tab.mouse.move(0, 0)
        height = BELOW + tab.locator(to).evaluate(
            "part => part.getBoundingClientRect().bottom + window.scrollY"
        )
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        tab.screenshot(path=target, full_page=True, clip=clip)
        browser.close()
    Image.open(target).quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)


if __name__ == "__main__":
    main()
