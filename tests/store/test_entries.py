"""An entry is what was written, or it is not there; nothing in it runs when it is read."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest

from mdba_checks.config import CheckConfig
from mdba_checks.simulation import simulate
from mdba_checks.store.entries import MAGIC, Entry, read_entry, write_entry
from mdba_checks.store.fingerprints import contents
from mdba_checks.tables import load


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "entry"
    write_entry(path, Entry({"x": 0.1 + 0.2}, {"a": np.array([np.nan, -0.0, 5e-324])}))
    return path


def test_numbers_come_back_to_the_last_bit(file):
    entry, _ = read_entry(file)
    assert entry.about["x"] == 0.1 + 0.2
    assert entry.arrays["a"].tobytes() == np.array([np.nan, -0.0, 5e-324]).tobytes()


def test_no_single_byte_can_change_unnoticed(file):
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        assert read_entry(file) is None, place


def test_no_shortened_file_is_read(file):
    content = file.read_bytes()
    for size in range(len(content)):
        file.write_bytes(content[:size])
        assert read_entry(file) is None, size


class Trap:
    """Something that would run when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_a_pickle_with_a_right_checksum_is_not_opened(file):
    body = io.BytesIO()
    np.savez(body, about=np.array([Trap()], dtype=object))
    content = body.getvalue()
    file.write_bytes(MAGIC + hashlib.blake2b(content, digest_size=32).digest() + content)
    assert read_entry(file) is None


@pytest.mark.parametrize("drop", [[], ["item"]], ids=["items", "no items"])
def test_items_keep_their_numbers_when_others_come(drop):
    made = simulate(n_items=1500, n_labelers=4, gold_per_group=100, seed=1)
    labels = made.labels.drop(columns=drop)
    gold = made.gold.drop(columns=drop)
    part = labels[labels["labeler"] != "L1"]
    found = [
        contents(load(table, gold, CheckConfig(), keep_item_names=True)) for table in (labels, part)
    ]
    n_first = int(found[0].n_rows[0])
    np.testing.assert_array_equal(found[0].item[n_first:], found[1].item)
    np.testing.assert_array_equal(found[0].what[1:], found[1].what)
    assert len(set(found[0].item.tolist())) == len(labels)


def test_equal_rows_without_items_have_numbers_of_their_own():
    made = simulate(n_items=1500, n_labelers=4, gold_per_group=100, seed=1)
    labels = made.labels.drop(columns="item")
    twice = labels.iloc[np.repeat(np.arange(len(labels)), 2)]
    data = load(twice, made.gold.drop(columns="item"), CheckConfig(), keep_item_names=True)
    assert len(set(contents(data).item.tolist())) == len(twice)
