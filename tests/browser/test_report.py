from __future__ import annotations

import pytest

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.outputs import side_by_side, to_record
from mdba_checks.report import compare_page, labeler_page, render
from mdba_checks.simulation import simulate
from tests.helpers import some_gold
from tests.report.builders import NASTY, SHARES, check, many

PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True}
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def report() -> str:
    """The report of a check with models, of labelers of two vendors."""
    made = simulate(
        n_items=4_000, n_labelers=6, tprs=[0.4, 0.55, 0.8, 0.85, 0.93, 0.95], gold_per_group=150
    )
    labels = made.labels.assign(vendor=made.labels["labeler"].isin(["L1", "L2", "L3"]))
    settings = {"reference": "men", "columns": {"cohort": "vendor"}}
    assessment = assess(labels, made.gold, CheckConfig(**settings))
    return render(assessment, gate(assessment))


@pytest.fixture(scope="module")
def many_of_everything() -> str:
    """The report of 24 labelers about 6 groups: with a crowd and a heatmap."""
    groups = ["women", "north", "south", "east", "west"]
    shares = {
        f"L{number}": dict.fromkeys(groups, (20 + 5 * (number % 9), 80)) | {"men": (40, 80)}
        for number in range(24)
    }
    return render(*check(shares, gold=some_gold(("men", *groups))))


@pytest.fixture(scope="module")
def crowd() -> str:
    """The report of 10,000 labelers."""
    return render(*many(10_000))


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}])
def test_it_opens_from_disk_with_verdict_and_plot_and_asks_for_nothing(
    open_report, report, options
):
    opened = open_report(report, **options)
    page = opened.page
    assert page.locator("h1").inner_text().startswith("Blocked: ")
    assert page.locator("h1").bounding_box()["y"] < 200
    plot = page.locator("#gaps svg.forest")
    assert plot.is_visible()
    assert plot.locator("g.row").count() == 6
    for mark in plot.locator(".marker").all():
        assert mark.bounding_box()["width"] > 5
    page.mouse.wheel(0, 10_000)
    page.wait_for_timeout(100)
    assert opened.requests == [opened.url]
    assert opened.complaints == []
    assert not page.evaluate(SIDEWAYS)


def test_marks_stand_where_the_numbers_are(open_report):
    # Gaps of -0.4 and +0.2: with the zero line they fix the scale, and the third must fit it.
    shares = {
        "a": {"women": (800, 4000), "men": (2400, 4000)},
        "b": {"women": (2400, 4000), "men": (1600, 4000)},
        "c": {"women": (1200, 4000), "men": (1600, 4000)},
    }
    page = open_report(render(*check(shares))).page

    def middle(selector: str) -> float:
        box = page.locator(selector).first.bounding_box()
        return box["x"] + box["width"] / 2

    zero = middle("#gaps svg.forest line.zero")
    at = {
        row.locator("text").first.inner_html(): row.locator(".marker").bounding_box()
        for row in page.locator("#gaps svg.forest g.row").all()
    }
    place = {name: box["x"] + box["width"] / 2 - zero for name, box in at.items()}
    unit = (place["b"] - place["a"]) / 0.6
    assert place["a"] == pytest.approx(-0.4 * unit, abs=1)
    assert place["b"] == pytest.approx(0.2 * unit, abs=1)
    assert place["c"] == pytest.approx(-0.1 * unit, abs=1)


def test_headings_sort_up_and_down_and_say_so(open_report):
    opened = open_report(render(*check()))
    page = opened.page
    heading = page.locator("#labelers-table thead th", has_text="Gap")
    assert opened.names() == ["Ada", "Cleo", "Ben"]
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert opened.names() == ["Ada", "Cleo", "Ben"]  # -0.40, -0.15, -0.01
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert opened.names() == ["Ben", "Cleo", "Ada"]
    page.locator("#labelers-table thead button", has_text="Labeler").click()
    assert heading.get_attribute("aria-sort") == "none"
    assert opened.names() == ["Ada", "Ben", "Cleo"]


def test_names_sort_like_numbers_and_the_unknown_stands_last(open_report):
    shares = {f"L{number}": SHARES["Ada"] for number in (10, 9, 100)}
    opened = open_report(render(*check(shares | {"Eve": {"women": (5, 40)}})))
    for title, wanted in (
        ("Labeler", ["Eve", "L9", "L10", "L100"]),
        ("Rate, men", ["L9", "L10", "L100", "Eve"]),
    ):
        opened.page.locator("#labelers-table thead button", has_text=title).click()
        assert opened.names() == wanted
    opened.page.locator("#labelers-table thead button", has_text="Rate, men").click()
    assert opened.names()[-1] == "Eve"


def test_search_and_filter_narrow_the_table(open_report, crowd):
    opened = open_report(crowd)
    page = opened.page
    assert len(opened.names()) == 50
    page.locator("#search").fill("WORKER 19")
    # 19, 190 to 199 and 1900 to 1999, with names filled up by zeros: 1900 to 1999.
    assert page.locator("#shown").inner_text() == "50 shown, 100 found, 10,000 in all"
    page.locator("#search").fill("1987")
    assert opened.names() == ["worker 1987"]
    page.locator("#search").fill("nobody")
    assert opened.names() == []
    page.locator("#search").fill("")
    page.locator("#finding").select_option("biased")
    assert set(
        page.locator("#labelers-table tbody:not([hidden])").evaluate_all(
            "all => all.map(b => b.className)"
        )
    ) == {"biased"}


def test_10000_labelers_make_a_small_file_that_renders_and_sorts_in_under_two_seconds(
    open_report, crowd
):
    assert len(crowd.encode()) < 5_000_000
    opened = open_report("<!doctype html><title>empty</title>")
    page = opened.page
    # Seconds of work in the page's own thread: what else the machine does must not count.
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        page.evaluate(TWO_FRAMES)  # what was asked for has been painted by then
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    opened.path.write_text(crowd, encoding="utf-8")
    # On a virtual machine even a thread's own clock runs on while it waits for a processor: noise
    # can only add, so the best of three tells what the page costs.
    for _ in range(3):
        before = worked()
        page.reload(wait_until="load")
        page.locator("#show-all").click()
        page.locator("#shown", has_text="10,000 comparisons").wait_for()
        rendered = worked() - before
        page.locator("#labelers-table thead button", has_text="Gap").click()
        sorted_ = worked() - before - rendered
        if rendered < 2 and sorted_ < 2:
            break
    assert page.locator("#shown").inner_text() == "10,000 comparisons"
    gaps = page.locator("#labelers-table tbody > tr:first-child > td:nth-child(3)").evaluate_all(
        "all => all.map(cell => Number(cell.dataset.v))"
    )
    assert len(gaps) == 10_000
    assert gaps == sorted(gaps)
    assert 0 < rendered < 2
    assert 0 < sorted_ < 2


def test_a_name_opens_what_is_known_by_mouse_and_by_keyboard(open_report):
    page = open_report(render(*check())).page
    button = page.get_by_role("button", name="Ada")
    more = page.locator(f"#{button.get_attribute('aria-controls')}")
    assert not more.is_visible()
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    assert "women\n20%" in more.inner_text()
    button.press("Enter")
    assert not more.is_visible()
    page.locator("#finding").focus()
    for _ in range(8):  # seven headings, then the first name
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert more.is_visible()


def test_nothing_in_names_groups_or_columns_runs(open_report):
    shares = {name: {NASTY[0]: (80, 400), "men": (240, 400)} for name in NASTY}
    opened = open_report(render(*check(shares, rename={"x": NASTY[1]})))
    page = opened.page
    for button in page.locator("button.name").all():
        button.hover()
        button.click()
    for button in page.locator("#labelers-table thead button").all():
        button.click()
    page.locator("#search").fill(NASTY[0])
    assert opened.names() == [NASTY[0]]
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 1
    assert opened.requests == [opened.url]
    assert opened.complaints == []


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}])
def test_axe_finds_nothing_on_the_page_of_two_checks(open_report, options):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    before, after = to_record(*check()), to_record(*check({"Ada": SHARES["Ben"]}))
    opened = open_report(compare_page(side_by_side(before, after)), **options)
    page = opened.page
    found = axe.Axe().run(page, options={"runOnly": {"type": "tag", "values": LEVELS}})
    assert found.response["passes"], "axe has looked at the page"
    assert found.violations_count == 0, found.generate_report()
    assert not page.evaluate(SIDEWAYS)


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}])
def test_axe_finds_nothing_on_the_page_for_a_labeler_and_it_prints(open_report, options):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    assessment, decision = check()
    opened = open_report(labeler_page(to_record(assessment, decision), "Ada"), **options)
    page = opened.page
    found = axe.Axe().run(page, options={"runOnly": {"type": "tag", "values": LEVELS}})
    assert found.response["passes"], "axe has looked at the page"
    assert found.violations_count == 0, found.generate_report()
    assert not page.evaluate(SIDEWAYS)
    assert opened.requests == [opened.url]
    assert not page.locator(".answer").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".answer").is_visible()


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}])
def test_axe_finds_no_violation_of_level_a_or_aa(open_report, report, options):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_report(report, **options).page
    assert page.locator("#whole").is_visible()
    assert page.locator("#cohorts").is_visible()
    for button in page.locator("button.name").all()[:2]:
        button.click()
    page.locator("#labelers-table thead button").first.click()
    found = axe.Axe().run(page, options={"runOnly": {"type": "tag", "values": LEVELS}})
    assert found.response["passes"], "axe has looked at the page"
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}])
def test_axe_finds_nothing_where_there_are_a_crowd_and_many_groups(
    open_report, many_of_everything, options
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_report(many_of_everything, **options).page
    assert page.locator("#crowd svg.distribution").is_visible()
    assert page.locator("#crowd table.first tbody tr").count() == 10
    assert page.locator("#gaps table.heatmap").is_visible()
    found = axe.Axe().run(page, options={"runOnly": {"type": "tag", "values": LEVELS}})
    assert found.response["passes"], "axe has looked at the page"
    assert found.violations_count == 0, found.generate_report()
    assert not page.evaluate(SIDEWAYS)


def test_without_scripts_everything_is_there(open_report):
    page = open_report(render(*check()), java_script_enabled=False).page
    assert page.locator("tr.more").count() == 3
    assert all(row.is_visible() for row in page.locator("tr.more").all())
    assert not page.locator(".controls").is_visible()


def test_paper_shows_the_reasons_of_whoever_is_called_biased_and_no_controls(open_report):
    page = open_report(render(*check()), color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.locator("tbody.biased tr.more").is_visible()
    assert not page.locator("tbody.fair tr.more").is_visible()
    assert not page.get_by_label("Search").is_visible()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
