"""The configuration says exactly what was written, or says in one line why it cannot."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from mdba_checks.config import CheckConfig, Columns, Policy
from tests.helpers import refusal, settings_from

SCHEMA = Path(__file__).parent.parent / "docs" / "mdba.schema.json"

# Every value differs from its default.
OTHERWISE = {
    "columns": {
        "labeler": "who",
        "label": "decision",
        "group": ["sex", "age_band"],
        "gold": "truth",
        "item": "application",
        "text": ["comment"],
        "cluster": "advert",
        "cohort": "vendor",
        "gold_weight": "stands_for",
    },
    "features": ["age", "Ausbildung"],
    "text_model": "models/small",
    "reference": {"sex": "men"},
    "intersections": True,
    "positive": ["hire", "maybe"],
    "gold_positive": "suitable",
    "estimator": "mdba",
    "metric": "fnr",
    "confidence": 0.95,
    "c": [0.9, 1.1],
    "policy": {
        "max_gap": 0.25,
        "margin": 0.01,
        "max_gap_overall": 0.03,
        "max_undecided": 0.5,
        "mode": "quarantine",
        "quarantine": "group",
        "on_inconclusive": "annotate",
        "on_block": "approve",
        "approval_timeout": 60,
        "correction": "bh",
        "decide_on": "estimate",
        "min_gold_positives": 12,
        "on_serious": "report",
    },
    "words": {
        "positive_verb": "invites",
        "negative_verb": "rejects",
        "positive_adjective": "suitable",
        "negative_adjective": "unsuitable",
    },
    "drop_missing": True,
    "missing_values": ["-", "?"],
    "pseudonymize": True,
    "engine": "dask",
    "cluster": "tcp://host:8786",
    "jobs": 3,
    "seed": 41,
}


@pytest.fixture
def read(tmp_path):
    """Return a function that writes some YAML and reads it as a configuration."""
    return partial(settings_from, tmp_path / "mdba.yaml")


class TestYaml:
    def test_an_empty_file_means_all_defaults(self, read):
        assert read("") == read("# nothing but a comment\n") == CheckConfig()

    def test_every_value_that_was_written_is_the_value_that_is_read(self, read):
        assert json.loads(read(yaml.safe_dump(OTHERWISE)).model_dump_json()) == OTHERWISE

    def test_no_key_is_missing_from_the_test_above(self):
        assert set(OTHERWISE) == set(CheckConfig.model_fields)
        assert set(OTHERWISE["columns"]) == set(Columns.model_fields)
        assert set(OTHERWISE["policy"]) == set(Policy.model_fields)
        defaults = json.loads(CheckConfig().model_dump_json())
        assert not [key for key, value in OTHERWISE.items() if value == defaults[key]]

    def test_a_round_trip_through_a_file_keeps_every_value(self, tmp_path):
        path = tmp_path / "mdba.yaml"
        for config in (CheckConfig(), CheckConfig.from_mapping(OTHERWISE)):
            assert config.to_yaml(path) == path.read_text(encoding="utf-8")
            assert CheckConfig.from_yaml(path) == config

    def test_a_written_file_states_every_key_so_that_new_defaults_cannot_change_it(self):
        written = yaml.safe_load(CheckConfig().to_yaml())
        assert set(written) == set(CheckConfig.model_fields)
        assert set(written["policy"]) == set(Policy.model_fields)

    def test_groups_in_other_alphabets_stay_readable_in_the_file(self):
        assert "reference: женщины" in CheckConfig(reference="женщины").to_yaml()

    def test_a_file_with_a_byte_order_mark_is_read(self, read):
        assert read(b"\xef\xbb\xbfseed: 7").seed == 7

    def test_anchors_and_merged_keys_work(self, read):
        config = read(
            "columns: {<<: {label: hired, item: &name case}, labeler: who}\nreference: *name"
        )
        assert config.columns == Columns(label="hired", item="case", labeler="who")
        assert config.reference == "case"

    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("0", 0),
            ("'0'", "0"),
            ("1", 1),
            ("-3", -3),
            ("true", True),
            ("false", False),
            ("'true'", "true"),
            ("null", None),
            ("'null'", "null"),
            # What YAML 1.1 would make something else of: false, true, 7, 8, 31, 750, a date, 1000.
            ("no", "no"),
            ("NO", "NO"),
            ("on", "on"),
            ("y", "y"),
            ("007", "007"),
            ("010", "010"),
            ("0x1F", "0x1F"),
            ("12:30", "12:30"),
            ("2020-01-01", "2020-01-01"),
            ("1_000", "1_000"),
            ("65+", "65+"),
        ],
    )
    def test_a_group_is_what_was_written(self, read, written, value):
        config = read(f"reference: {written}\npositive: {written}\n")
        for read_back in (config.reference, config.positive):
            assert read_back == value
            assert type(read_back) is type(value)

    @given(value=st.one_of(st.text(), st.integers(), st.booleans(), st.none()))
    @example("0")
    @example("1e3")
    @example("no")
    @example("012")
    @example("~")
    @example("=")
    @example("<<")
    @example("12:30:45")
    @example("2020-01-01")
    @example("a\nb")
    @example("a\x85b")
    def test_any_group_survives_a_round_trip_with_its_type(self, tmp_path_factory, value):
        path = tmp_path_factory.getbasetemp() / "group.yaml"
        CheckConfig(reference=value).to_yaml(path)
        read_back = CheckConfig.from_yaml(path).reference
        assert read_back == value
        assert type(read_back) is type(value)

    @given(name=st.text(min_size=1), seed=st.integers(0, 2**32 - 1), gap=st.floats(0, 1))
    @example("no", 0, 1e-5)
    @example("007", 2**32 - 1, 1.0)
    def test_any_name_and_number_survives_a_round_trip_through_a_file(
        self, tmp_path_factory, name, seed, gap
    ):
        path = tmp_path_factory.getbasetemp() / "round.yaml"
        config = CheckConfig(
            columns=Columns(item=f"{name} of item"),
            features=(name, "age"),
            reference=name,
            missing_values=(name,),
            seed=seed,
            policy=Policy(max_gap=gap),
        )
        config.to_yaml(path)
        assert CheckConfig.from_yaml(path) == config


class TestUnknownKeys:
    def test_an_unknown_key_is_refused_with_the_nearest_one(self, read):
        assert refusal(read, "confidense: 0.9").endswith(
            "mdba.yaml: unknown key 'confidense'. Did you mean 'confidence'?"
        )

    def test_a_key_inside_a_section_is_named_with_its_section(self, read):
        text = refusal(read, "policy: {max_gp: 0.1}")
        assert text.endswith("unknown key 'policy.max_gp'. Did you mean 'max_gap'?")

    def test_the_right_key_in_the_wrong_place_is_told_its_place(self, read):
        text = refusal(read, "max_gap: 0.2")
        assert text.endswith("unknown key 'max_gap'. Did you mean 'policy.max_gap'?")

    def test_a_key_unlike_all_others_is_answered_with_the_keys_there_are(self, read):
        text = refusal(read, "columns: {zzz: a}")
        assert "unknown key 'columns.zzz'" in text
        assert (
            "Known: cluster, cohort, gold, gold_weight, group, item, label, labeler, text." in text
        )

    @pytest.mark.parametrize("name", ["str", "int", "bool"])
    def test_a_key_named_like_a_type_is_named_too(self, read, name):
        assert f"unknown key 'policy.{name}'" in refusal(read, f"policy: {{{name}: 1}}")

    @pytest.mark.parametrize("key", ["1", "null", "1.5", "true"])
    def test_a_key_that_is_not_text_is_refused_like_any_other(self, read, key):
        assert "unknown key" in refusal(read, f"{key}: 2")

    def test_all_problems_are_told_at_once(self, read):
        text = refusal(read, "sed: 1\nmetric: auc\npolicy: {max_gap: 3}")
        assert all(part in text for part in ("'sed'", "'metric'", "'policy.max_gap'"))

    def test_a_key_that_is_there_twice_is_refused_because_one_of_them_would_be_ignored(self, read):
        text = refusal(read, "policy:\n  max_gap: 0.1\n  max_gap: 0.9\n")
        assert "line 3" in text
        assert "'max_gap' is there twice" in text

    def test_python_is_told_the_same_as_yaml(self):
        assert refusal(CheckConfig, sed=1) == "unknown key 'sed'. Did you mean 'seed'?"
        assert refusal(Policy, maxgap=1) == "unknown key 'maxgap'. Did you mean 'max_gap'?"
        assert refusal(Columns, lable="a") == "unknown key 'lable'. Did you mean 'label'?"


class TestRanges:
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("policy.max_gap", 0),
            ("policy.max_gap", 1),
            ("policy.min_gold_positives", 1),
            ("confidence", 0.501),
            ("confidence", 0.999),
            ("seed", 0),
            ("seed", 2**32 - 1),
            ("jobs", 1),
            ("jobs", None),
            ("c", [0.01, 5]),
            ("missing_values", []),
        ],
    )
    def test_the_ends_of_a_range_belong_to_it(self, key, value):
        CheckConfig().updated({key: value})

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("policy.max_gap", -0.001),
            ("policy.max_gap", 1.001),
            ("policy.max_gap", float("nan")),
            ("policy.max_gap", float("inf")),
            ("policy.max_gap", True),  # would be 1: every gap tolerated
            ("policy.max_gap", None),
            ("policy.max_gap", "a lot"),
            ("policy.min_gold_positives", 0),
            ("policy.min_gold_positives", 2.5),
            ("policy.mode", "warn"),
            ("policy.on_inconclusive", "ignore"),
            ("policy.correction", "bonferroni"),
            ("policy.decide_on", "feeling"),
            ("policy", None),
            ("policy", 3),
            ("columns", []),
            ("columns.label", 3),
            ("columns.label", ""),
            ("columns.label", None),
            ("features", []),
            ("features", "age"),
            ("features", ["age", 3]),
            ("features", [""]),
            ("reference", 1.5),
            ("reference", [1]),
            ("reference", {}),
            ("reference", {"group": 1.5}),
            ("positive", {"a": 1}),
            ("positive", []),
            ("gold_positive", [1.5]),
            ("columns.group", []),
            ("columns.group", ["sex", 3]),
            ("estimator", "oracle"),
            ("metric", "auc"),
            ("engine", "abacus"),
            ("confidence", 0.5),
            ("confidence", 1),
            ("confidence", 90),
            ("confidence", float("nan")),
            ("c", []),
            ("c", 1),
            ("c", [0]),
            ("c", [1, -1]),
            ("c", [float("inf")]),
            ("c", [float("nan")]),
            ("seed", -1),
            ("seed", 2**32),
            ("seed", 0.5),
            ("seed", True),
            ("jobs", 0),
            ("drop_missing", "perhaps"),
            ("missing_values", "NA"),
        ],
    )
    def test_a_value_outside_is_refused_by_name_and_with_the_value(self, key, value):
        text = refusal(CheckConfig().updated, {key: value})
        # Of a list, only the entry that is wrong is named and shown.
        culprit = value[-1] if value and key in {"c", "features"} and type(value) is list else value
        assert f"'{key}" in text
        assert f"' is {culprit!r}: " in text
        assert text.count("' is ") == 1  # and said once

    def test_the_choices_are_listed(self):
        assert "'tpr', 'fpr', 'tnr' or 'fnr'" in refusal(CheckConfig, metric="auc")

    @pytest.mark.parametrize(
        "columns",
        [{"group": "label"}, {"item": "labeler"}, {"gold": "group"}, {"gold_weight": "gold"}],
    )
    def test_a_column_cannot_play_two_roles_in_one_table(self, columns):
        assert "cannot be both" in refusal(Columns, **columns)
        assert "cannot be both" in refusal(CheckConfig.from_mapping, {"columns": columns})

    def test_a_column_name_with_braces_is_shown_as_it_is(self):
        assert "column '{x}' cannot" in refusal(Columns, label="{x}", group="{x}")

    def test_the_label_may_have_the_name_of_the_gold_label_for_it_is_in_another_table(self):
        assert Columns(label="hired", gold="hired").gold == "hired"

    @pytest.mark.parametrize(
        ("scalar", "value"), [(np.int64(0), 0), (np.True_, True), (np.str_("a"), "a")]
    )
    def test_a_group_taken_from_a_table_is_the_plain_value(self, scalar, value):
        config = CheckConfig(reference=scalar)
        assert config.reference == value
        assert type(config.reference) is type(value)
        assert CheckConfig.from_mapping(yaml.safe_load(config.to_yaml())) == config

    def test_a_huge_value_is_shown_shortened(self):
        assert len(refusal(CheckConfig, metric="x" * 100_000)) < 300
        assert len(refusal(CheckConfig, **{"x" * 100_000: 1})) < 600


class TestFrozen:
    def test_nothing_can_be_changed_after_it_was_checked(self):
        config = CheckConfig()
        with pytest.raises(ValidationError, match="frozen"):
            config.seed = 3
        with pytest.raises(ValidationError, match="frozen"):
            config.policy.max_gap = 0.9
        with pytest.raises(ValidationError, match="frozen"):
            config.columns.label = "other"
        assert config == CheckConfig()

    def test_equal_configurations_are_one_key_of_a_dictionary(self):
        assert len({CheckConfig(), CheckConfig(), CheckConfig(seed=1)}) == 2

    def test_it_arrives_whole_in_another_process(self):
        config = CheckConfig.from_mapping(OTHERWISE)
        assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 (our own bytes)


class TestUpdated:
    def test_flags_win_over_the_file_and_the_rest_of_the_file_stays(self, read):
        config = read("seed: 5\npolicy: {max_gap: 0.3, mode: annotate}\n")
        changed = config.updated({"policy.max_gap": 0.2, "columns.label": "hired", "metric": "fpr"})
        assert changed.policy.max_gap == 0.2
        assert changed.columns.label == "hired"
        assert changed.metric == "fpr"
        assert (changed.seed, changed.policy.mode) == (5, "annotate")
        assert config.policy.max_gap == 0.3  # the original is as it was

    def test_no_change_gives_an_equal_configuration(self):
        config = CheckConfig.from_mapping(OTHERWISE)
        assert config.updated({}) == config

    def test_a_section_can_be_replaced_as_a_whole_and_then_in_part(self):
        changed = CheckConfig().updated({"policy": Policy(max_gap=0.4), "policy.mode": "annotate"})
        assert changed.policy == Policy(max_gap=0.4, mode="annotate")

    @pytest.mark.parametrize(
        ("key", "hint"),
        [
            ("policy.max_gp", "'max_gap'"),
            ("polcy.max_gap", "'policy.max_gap'"),
            ("seed.value", "Known:"),
            ("policy.max_gap.x", "'policy.max_gap'"),
            ("", "Known:"),
        ],
    )
    def test_an_unknown_key_is_refused_with_the_nearest_one(self, key, hint):
        text = refusal(CheckConfig().updated, {key: 1})
        assert f"unknown key {key!r}" in text
        assert hint in text


class TestSchema:
    def test_the_published_schema_is_the_one_of_this_version(self):
        published = json.loads(SCHEMA.read_text(encoding="utf-8"))
        assert published == CheckConfig.model_json_schema()

    def test_it_describes_every_key_and_refuses_others(self):
        schema = CheckConfig.model_json_schema()
        for part in (schema, *schema["$defs"].values()):
            assert part["additionalProperties"] is False
            for name, key in part["properties"].items():
                assert key.get("description"), name
