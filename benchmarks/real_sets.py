"""Label sets of real people whose right answers are known, with gold drawn as a user would.

payraise
    487 people, 256 judgements each: was this decision about a pay raise biased? Gold is 100 items
    per gender, drawn at random; they leave the labels. Two features of two values fix the right
    answer.
HateCheck
    Ten annotators, five answers per text: is this hateful? Texts about women are compared with
    those about six other groups; texts about nobody are left out. Gold is 100 texts about women
    and 300 about the others (six times as many), drawn at random; they leave the labels. Four
    settings differ in what the tables hold of a text: 40 components of its words (``words``), or
    of its words and pairs of words (``pairs``), the text itself, which is read as text
    (``raw text``), or a column of noise beside text that nobody reads (``noise``).

The files are not part of the checkout. The truth is counted over the labels that are left.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.scoring import Made, gaps_in_table

# Beside the checkout, unless the variable that the paper's data sets use names a folder.
_FOLDER = os.environ.get("MDBA_DATA", Path(__file__).parents[2] / "shared" / "data")
DATA = Path(_FOLDER) / "real"
N_COMPONENTS = 40


def payraise(data: Path, rng: np.random.Generator, per_group: int = 100) -> Made:
    """Return one draw of gold from the pay-raise decisions."""
    table = _payraise(data)
    columns = ["item", "group", "gold", "objective", "committee"]
    items = table.drop_duplicates("item")[columns].sort_values("item")
    return _with_gold(table, items, {"men": per_group, "women": per_group}, rng)


@cache
def _payraise(data: Path) -> pd.DataFrame:
    return pd.read_csv(data / "payraise.csv.gz")


def hatecheck(
    data: Path,
    rng: np.random.Generator,
    features: Callable[[pd.Series], pd.DataFrame],
    sizes: tuple[int, int] = (100, 300),
) -> Made:
    """Return one draw of gold from the texts; `features` makes columns of them."""
    items, answers = _hatecheck(data)
    items = pd.concat([items.drop(columns="text"), features(items["text"])], axis=1)
    table = answers.merge(items, on="item")
    return _with_gold(table, items, dict(zip(("women", "others"), sizes, strict=True)), rng)


@cache
def _hatecheck(data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ``item, text, group, gold`` of the texts, and ``item, labeler, label``."""
    wide = pd.read_csv(data / "hatecheck_all_annotations.csv.gz")
    about = pd.read_csv(data / "hatecheck_all_cases.csv.gz")[["case_id", "target_ident"]]
    wide = wide.merge(about, on="case_id", validate="one_to_one")
    wide = wide.dropna(subset="target_ident").rename(columns={"case_id": "item"})
    wide = wide.reset_index(drop=True)
    group = np.where(wide["target_ident"] == "women", "women", "others")
    gold = (wide["label_gold"] == "hateful").astype(int)
    items = pd.DataFrame(
        {"item": wide["item"], "text": wide["test_case"], "group": group, "gold": gold}
    )
    annotators = [f"label_{number}" for number in range(1, 11)]
    answers = wide.melt("item", annotators, "labeler", "label").dropna(subset="label")
    answers["label"] = (answers["label"] == "hateful").astype(int)
    return items, answers


def words(text: pd.Series) -> pd.DataFrame:
    """Return the leading components of single words; no answer is looked at."""
    return _components(tuple(text), longest=1, rarest=1).set_index(text.index)


def pairs(text: pd.Series) -> pd.DataFrame:
    """Return the leading components of words and pairs of words that are there twice."""
    return _components(tuple(text), longest=2, rarest=2).set_index(text.index)


@cache
def _components(text: tuple[str, ...], longest: int, rarest: int) -> pd.DataFrame:
    counted = TfidfVectorizer(ngram_range=(1, longest), min_df=rarest).fit_transform(text)
    reduced = TruncatedSVD(N_COMPONENTS, random_state=0).fit_transform(counted)
    return pd.DataFrame(reduced, columns=[f"component_{n + 1}" for n in range(N_COMPONENTS)])


def raw_text(text: pd.Series) -> pd.DataFrame:
    """Return the text as it is."""
    return text.to_frame()


def noise(text: pd.Series) -> pd.DataFrame:
    """Return a column of noise, the same in every draw."""
    values = np.random.default_rng(0).standard_normal(len(text))
    return pd.DataFrame({"noise": values}, index=text.index)


def _with_gold(
    table: pd.DataFrame, items: pd.DataFrame, sizes: dict[str, int], rng: np.random.Generator
) -> Made:
    """Draw gold in every group; those items leave the labels."""
    chosen = pd.concat(
        items[items["group"] == group].sample(size, random_state=rng)
        for group, size in sizes.items()
    )
    left = table[~table["item"].isin(chosen["item"])].reset_index(drop=True)
    reference = "men" if "men" in sizes else "others"
    labels, right = left.drop(columns="gold"), left["gold"].to_numpy()
    truth = gaps_in_table(labels, right, reference)
    return Made(labels, chosen.reset_index(drop=True), right, truth)
