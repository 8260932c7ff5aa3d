from __future__ import annotations

import hashlib
import json
import re
import stat

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import sidecar_path, to_record, verify
from mdba_checks.outputs.annotate import annotate
from mdba_checks.outputs.mapping import write_mapping
from mdba_checks.outputs.quarantine import quarantine
from mdba_checks.simulation import simulate
from mdba_checks.tables import KEY_VARIABLE, pseudonym
from tests.helpers import write_annotated, write_quarantined

NAMES = ("Annabel Archer", "Bartholomew", "Zoë =1+1", "007")


@pytest.fixture
def key(monkeypatch) -> str:
    monkeypatch.setenv(KEY_VARIABLE, "a long secret")
    return "a long secret"


@pytest.fixture
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    row = np.arange(1600)
    labels = pd.DataFrame({"labeler": np.array(NAMES)[row % 4], "group": list("mmmmwwww") * 200})
    biased = (labels["labeler"] == NAMES[0]) & (labels["group"] == "w")
    labels["label"] = np.where(biased, 0, row // 8 % 2)
    labels["x"] = row % 7
    gold = pd.DataFrame({"group": ["m", "w"] * 6, "gold": [0, 1, 1] * 4, "x": np.arange(12)})
    return labels, gold


def config(**policy) -> CheckConfig:
    return CheckConfig(
        estimator="selection_rate",
        reference="m",
        pseudonymize=True,
        jobs=1,
        policy=Policy(max_gap=0.2, **policy),
    )


def hmac_sha256(key: bytes, message: bytes) -> str:
    """Compute the keyed hash by its definition in RFC 2104."""
    if len(key) > 64:
        key = hashlib.sha256(key).digest()
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).hexdigest()


class TestPseudonyms:
    def test_a_pseudonym_is_twelve_digits_of_the_keyed_hash(self):
        for name in NAMES:
            expected = hmac_sha256("ké".encode(), name.encode())[:12]
            assert pseudonym(name, "ké") == expected

    def test_they_are_the_same_in_every_run_with_the_same_key(self, key, tables):
        runs = [assess(*tables, config()).pseudonyms for _ in range(2)]
        assert runs[0] == runs[1] == {name: pseudonym(name, key) for name in NAMES}

    def test_no_number_depends_on_the_key(self, monkeypatch):
        made = simulate(n_items=1500, n_labelers=4, gold_per_group=100, seed=5)
        settings = CheckConfig(reference="men", jobs=1)
        plain = assess(made.labels, made.gold, settings).gaps
        for secret in ("one", "two"):
            monkeypatch.setenv(KEY_VARIABLE, secret)
            names = {name: pseudonym(name, secret) for name in plain["labeler"]}
            hidden = assess(made.labels, made.gold, settings.updated({"pseudonymize": True})).gaps
            wanted = plain.replace({"labeler": names}).sort_values("labeler", ignore_index=True)
            pd.testing.assert_frame_equal(hidden, wanted, atol=1e-6, rtol=0)

    @pytest.mark.usefixtures("key")
    def test_another_key_gives_others(self, tables, monkeypatch):
        one = assess(*tables, config()).pseudonyms
        monkeypatch.setenv(KEY_VARIABLE, "another secret")
        two = assess(*tables, config()).pseudonyms
        assert not set(one.values()) & set(two.values())

    @pytest.mark.usefixtures("key")
    @pytest.mark.parametrize("n_names", [2, 4])
    @pytest.mark.parametrize("role", ["label", "group"])
    def test_errors_about_the_wrong_column_show_no_names(self, tables, role, n_names):
        labels, gold = tables
        labels = labels[labels["labeler"].isin(NAMES[:n_names])].rename(
            columns={"labeler": role, role: "labeler"}
        )
        with pytest.raises(InputError, match="could be names") as caught:
            assess(labels, gold, config())
        assert not any(name in str(caught.value) for name in NAMES)
        with pytest.raises(InputError) as caught:
            assess(labels, gold, config().updated({"pseudonymize": False}))
        assert NAMES[0] in str(caught.value)

    @pytest.mark.parametrize("value", [None, "", "  "])
    def test_without_a_key_nothing_is_assessed(self, tables, monkeypatch, value):
        monkeypatch.delenv(KEY_VARIABLE, raising=False)
        if value is not None:
            monkeypatch.setenv(KEY_VARIABLE, value)
        with pytest.raises(InputError, match=KEY_VARIABLE):
            assess(*tables, config())

    def test_the_order_of_labelers_says_nothing_about_their_names(self, key, tables):
        shown = assess(*tables, config()).gaps["labeler"].tolist()
        assert shown == sorted(pseudonym(name, key) for name in NAMES)

    def test_numbers_are_those_of_the_same_people(self, key, tables):
        named = assess(*tables, config().updated({"pseudonymize": False})).gaps
        hidden = assess(*tables, config()).gaps.set_index("labeler")
        for row in named.itertuples():
            assert hidden.loc[pseudonym(row.labeler, key), "gap"] == pytest.approx(row.gap)


def is_in(name: str, text: str) -> bool:
    """Return whether a name is in a text; digits inside a longer number are not a name."""
    return re.search(rf"(?<![\d.]){re.escape(name)}(?!\d)", text) is not None


class TestNoNameLeaves:
    def test_neither_in_the_record_nor_in_the_texts_nor_in_the_repr(self, key, tables):
        assessment = assess(*tables, config())
        decision = gate(assessment)
        texts = (
            to_record(assessment, decision).to_json(),
            " ".join(decision.reasons),
            repr(assessment),
            str(assessment.messages),
        )
        for text in texts:
            assert not [name for name in NAMES if is_in(name, text)]
            assert key not in text

    @pytest.mark.usefixtures("key")
    def test_nor_in_sidecars_while_the_data_keeps_its_own_column(self, tables, tmp_path):
        labels, gold = tables
        assessment = assess(labels, gold, config(mode="quarantine"))
        decision = gate(assessment)
        whole, kept = tmp_path / "whole.parquet", tmp_path / "kept.csv"
        write_annotated(labels, assessment, decision, whole)
        parts = quarantine(labels, gold, assessment)
        write_quarantined(labels, parts, assessment, decision, kept)
        for path in (whole, kept):
            text = sidecar_path(path).read_text()
            assert not [name for name in NAMES if is_in(json.dumps(name)[1:-1], text)]
            assert verify(path).ok
        assert pd.read_parquet(whole)["labeler"].tolist() == labels["labeler"].tolist()
        assert set(labels[parts.removed]["labeler"]) == {NAMES[0]}

    @pytest.mark.usefixtures("key")
    def test_rows_are_annotated_with_the_findings_about_their_labeler(self, tables):
        labels, gold = tables
        annotated = annotate(labels, assess(labels, gold, config()))
        women = annotated[annotated["group"] == "w"]
        findings = women.groupby("labeler")["mdba_finding"].first()
        assert findings[NAMES[0]] == "biased"
        assert set(findings.drop(NAMES[0])) == {"fair"}


class TestMapping:
    def test_it_tells_who_is_who_to_its_owner_only(self, key, tables, tmp_path):
        path = tmp_path / "who.json"
        write_mapping(assess(*tables, config()).pseudonyms, path)
        assert json.loads(path.read_text()) == {pseudonym(name, key): name for name in NAMES}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_it_replaces_nothing_without_force(self, tmp_path):
        path = tmp_path / "who.json"
        path.write_text("mine")
        with pytest.raises(InputError, match="it exists"):
            write_mapping({"a": "b"}, path)
        assert path.read_text() == "mine"

    def test_without_pseudonyms_there_is_nothing_to_write(self, tmp_path):
        with pytest.raises(InputError, match="pseudonymize: true"):
            write_mapping(None, tmp_path / "who.json")
