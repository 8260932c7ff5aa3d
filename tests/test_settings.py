"""Settings are declared once: options, expectation fields and the page of settings follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdba_checks import CheckConfig
from mdba_checks.settings import as_markdown, setting, settings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """# Settings

Every setting of `mdba.yaml`, made from its declaration in `mdba_checks/config.py`. On the command
line `policy.max_gap` is `--max-gap`, in an expectation it is the field `max_gap`; columns are
fields such as `labeler_column`. A dot means a section: `max_gap` stands below `policy:`.

"""


def leaves(values: dict, prefix: str = "") -> dict:
    found = {}
    for key, value in values.items():
        inner = leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {}
        found |= inner or {f"{prefix}{key}": value}
    return found


def test_there_is_a_setting_for_every_value_of_a_configuration_with_its_default():
    assert {each.key: each.default for each in settings()} == leaves(CheckConfig().model_dump())
    assert all(each.description for each in settings())


@pytest.mark.parametrize(
    ("key", "kind", "optional"),
    [
        ("policy.max_gap", "number", False),
        ("policy.margin", "number", True),
        ("policy.min_gold_positives", "whole number", False),
        ("reference", "value by column", True),
        ("positive", "value or values", True),
        ("columns.group", "text or texts", False),
        ("features", "texts", True),
        ("c", "numbers", False),
        ("drop_missing", "switch", False),
        ("columns.item", "text", True),
        ("policy.on_inconclusive", "choice", True),
    ],
)
def test_a_setting_says_what_its_values_look_like(key, kind, optional):
    assert (setting(key).kind, setting(key).optional) == (kind, optional)


def test_a_choice_lists_its_values_and_says_which_is_the_default():
    assert setting("policy.mode").choices == ("block", "annotate", "quarantine")
    assert "One of: block (default), annotate, quarantine." in setting("policy.mode").sentence()


def test_the_page_of_settings_is_what_is_declared_today():
    assert PAGE.read_text(encoding="utf-8") == HEAD + as_markdown(), "run: python " + __file__


if __name__ == "__main__":
    PAGE.write_text(HEAD + as_markdown(), encoding="utf-8")
