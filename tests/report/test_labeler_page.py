"""The page for the labeler concerned: right numbers, nobody else's name, and nothing that runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from mdba_checks.errors import InputError
from mdba_checks.outputs import to_record
from mdba_checks.report import file_names, labeler_page, labelers_of
from tests.report.builders import NASTY, SHARES, check


class Text(HTMLParser):
    """Collects what a reader sees, and the tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.tags: list[str] = []
        self.feed(page.partition("<main>")[2])

    def handle_starttag(self, tag, _attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.seen.append(data)

    def __str__(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.seen))


@pytest.fixture(scope="module")
def record():
    return to_record(*check()).values()


def test_it_says_what_was_compared_found_and_how_to_object(record):
    # Ada: 80 of 400 women and 240 of 400 men got a yes.
    said = str(Text(labeler_page(record, "Ada", contact="labels@example.org")))
    assert "These labels treat women and men differently by more than 10 percentage points." in said
    assert "Women compared with men: 800 labels by this labeler" in said
    assert re.search(r"women 20% 60% \( men \) −0\.40 −0\.4\d to −0\.3\d biased", said)
    assert "all decisions were compared, right or wrong" in said
    assert "3 labelers were compared" in said
    assert "The verdict about the whole data set is block" in said
    for title in ("How sure this is", "What it does not say", "How to object"):
        assert title in said
    assert "Objections go to: labels@example.org" in said
    assert record["data"]["labels_hash"] in said


@pytest.mark.parametrize(
    ("labeler", "headline"),
    [
        ("Ben", "These labels treat women and men alike, within 10 percentage points."),
        ("Cleo", "It is undecided whether these labels treat women and men differently"),
    ],
)
def test_other_findings_have_their_own_headline(record, labeler, headline):
    assert headline in str(Text(labeler_page(record, labeler)))


def test_it_names_no_other_labeler():
    # Names that occur nowhere in the words of the page.
    shares = dict(zip(("qqAda", "qqBen", "qqCleo"), SHARES.values(), strict=True))
    made = to_record(*check(shares))
    for name in shares:
        page = labeler_page(made, name)
        assert {other for other in shares if other in page} == {name}


def test_pseudonyms_stay_pseudonyms(monkeypatch):
    monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "0123456789abcdef0123456789abcdef")
    shares = dict(zip(("qqAda", "qqBen", "qqCleo"), SHARES.values(), strict=True))
    found = to_record(*check(shares, pseudonymize=True))
    (name,) = labelers_of(found, "biased")
    page = labeler_page(found, name)
    assert name in page
    assert not any(each in page for each in shares)
    with pytest.raises(InputError, match="no labeler 'qqAda'"):
        labeler_page(found, "qqAda")


def test_names_groups_and_contacts_are_text():
    shares = {name: {NASTY[0]: (80, 400), "men": (240, 400)} for name in NASTY}
    made = to_record(*check(shares))
    for name in NASTY:
        page = Text(labeler_page(made, name, contact=NASTY[1]))
        assert not {"img", "script", "iframe", "object", "embed"} & set(page.tags)
        assert NASTY[0] in str(page)
        assert NASTY[1] in str(page)


def test_every_labeler_has_a_file_of_its_own_inside_the_folder():
    names = [
        *NASTY,
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "",
        ".",
        "Ada",
        "ada",
        "CON",
        "nul.txt",
        "x" * 300,
    ]
    found = file_names(names)
    assert found["Ada"] == "Ada.html"
    assert len({each.casefold() for each in found.values()}) == len(names)
    for file in found.values():
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,80}\.html", file)
        assert ".." not in file


def test_a_record_without_a_limit_is_refused(record):
    with pytest.raises(InputError, match="does not say which gap was tolerated"):
        labeler_page({**record, "policy": {}}, "Ada")
    with pytest.raises(InputError, match="its policy cannot be"):
        labeler_page({**record, "policy": {"max_gap": "much"}}, "Ada")


def test_the_command_writes_whoever_is_biased_or_asked_for(record, tmp_path, capsys):
    from mdba_checks.cli import main
    from mdba_checks.outputs import to_json

    source, folder = tmp_path / "check.json", tmp_path / "pages"
    source.write_text(to_json(record))
    given = ["pages", str(source), "--output", str(folder)]
    assert main(given) == 0
    assert [each.name for each in folder.iterdir()] == ["Ada.html"]
    assert "(about Ada)" in capsys.readouterr().out
    assert main([*given, "--all"]) == 2  # Ada's page is there
    assert main([*given, "--all", "--force"]) == 0
    assert sorted(each.name for each in folder.iterdir()) == ["Ada.html", "Ben.html", "Cleo.html"]
    assert main([*given, "--labeler", "Bem", "--force"]) == 2
    assert "Did you mean 'Ben'?" in capsys.readouterr().err
    assert main([*given, "--labeler", "Ben", "--all"]) == 2
