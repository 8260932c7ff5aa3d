"""Draw the pictures of the report, its plots, Data Docs and Prefect again, from `mdba demo`.

make images
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.outputs import to_record
from mdba_checks.report import labeler_page
from tests.browser.conftest import find_chromium

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
WIDTH = 1080  # of the page in the picture
BELOW = 16  # the last row of the table
# What Bootstrap 4, which Data Docs are made for, has and Bootstrap 5 has not.
_DATA_DOCS_STYLE = """
.badge-secondary { background: #6c757d; }
table, table th, table td { border-color: #dee2e6 !important; }
footer, [class*=footer], [class*=newsletter] { display: none !important; }
"""


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
        data_docs(made, folder / "project", IMAGES / "data-docs.png")
        prefect_page(made, folder / "prefect", IMAGES / "prefect-verdict.png")


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


def data_docs(made: Path, project: Path, target: Path) -> None:
    """Take the table of Data Docs, after a checkpoint that was stopped.

    Data Docs load their style from other hosts. Here it is the Bootstrap that MkDocs brings.
    """
    import great_expectations as gx
    import mkdocs
    from great_expectations.checkpoint import UpdateDataDocsAction

    from mdba_checks.gx import BlockOnLabelerGap, ExpectLabelerTprGapToBeWithin, LabelerGapError

    project.mkdir()
    shutil.copy(made / "gold.csv", project / "gold.csv")
    context = gx.get_context(mode="file", project_root_dir=project)
    asset = context.data_sources.add_pandas("labels").add_dataframe_asset("labels")
    rule = ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold="gold.csv", reference_group="men")
    suite = context.suites.add(gx.ExpectationSuite("label_bias", expectations=[rule]))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(
            name="labels", data=asset.add_batch_definition_whole_dataframe("all"), suite=suite
        )
    )
    actions = [UpdateDataDocsAction(name="docs"), BlockOnLabelerGap()]
    gate_ = gx.Checkpoint(name="gate", validation_definitions=[definition], actions=actions)
    with contextlib.suppress(LabelerGapError):
        context.checkpoints.add(gate_).run({"dataframe": pd.read_csv(made / "labels.csv")})
    (page,) = (project / "gx/uncommitted/data_docs").rglob("validations/**/*.html")
    style = Path(mkdocs.__file__).parent / "themes/mkdocs/css/bootstrap.min.css"
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 2400}, device_scale_factor=1.5)
        tab.route("**/bootstrap.min.css", lambda route: route.fulfill(path=style))
        tab.goto(page.resolve().as_uri())
        tab.add_style_tag(content=_DATA_DOCS_STYLE)
        tab.locator("table", has_text="Observed Value").first.screenshot(path=target)
        browser.close()
    Image.open(target).quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)


def prefect_page(made: Path, home: Path, target: Path) -> None:
    """Take the verdict as an artifact, in the interface of a Prefect server of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    env = {
        **os.environ,
        "DO_NOT_TRACK": "1",
        "PREFECT_API_URL": f"{address}/api",
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }
    start = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)]
    server = subprocess.Popen(start, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"{address}/api/health")
        # As a reader would name them: the page shows the path of the labels.
        files = [f"{made.name}/{name}" for name in ("labels.csv", "gold.csv", "mdba.yaml")]
        script = str(ROOT / "flows" / "label_bias_gate.py")
        run = [sys.executable, script, *files]
        done = subprocess.run(run, env=env, cwd=made.parent, check=False)
        assert done.returncode == 1, "the demo is blocked"
        with sync_playwright() as engine:
            browser = engine.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": 1180, "height": 1000})
            tab.set_default_timeout(120_000)
            tab.goto(f"{address}/artifacts/key/mdba-verdict-labels")
            tab.locator("a[href*='/artifacts/artifact/']").first.click()
            tab.get_by_role("heading", name="Blocked").wait_for()
            tab.locator("img[src^='data:image/png']").first.wait_for()
            tab.screenshot(path=target)
            browser.close()
    finally:
        server.terminate()
        server.wait()
    Image.open(target).quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)


def _wait_for(address: str, seconds: float = 240) -> None:
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        with contextlib.suppress(URLError), urlopen(address, timeout=10) as answer:  # noqa: S310
            if answer.status == 200:
                return
        time.sleep(1)
    msg = f"nothing answers at {address}"
    raise TimeoutError(msg)


if __name__ == "__main__":
    main()
