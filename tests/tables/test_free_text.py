"""Which columns are free text, and what models get of it."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression

from mdba_checks import CheckConfig, Columns
from mdba_checks.errors import InputError
from mdba_checks.tables import load
from mdba_checks.tables.sources import parquet_files

WORDS = {
    "English": "the a model house garden seems quite very good bad cheap old new and but not",
    "German": "das ein Modell Haus Garten wirkt ganz sehr gut schlecht billig älter neu und nicht",
    "Greek": "το ένα μοντέλο σπίτι κήπος φαίνεται πολύ καλό κακό φτηνό παλιό νέο και όμως δεν",
    "Hindi": "यह एक मॉडल घर बगीचा लगता है बहुत अच्छा बुरा सस्ता पुराना नया और नहीं",
    "Arabic": "هذا نموذج بيت حديقة يبدو جدا جيد سيئ رخيص قديم جديد و لكن ليس",
}


def sentences(rng: np.random.Generator, rows: int, language: str = "English") -> list[str]:
    words = WORDS[language].split()
    return [" ".join(rng.choice(words, rng.integers(6, 12))) + "." for _ in range(rows)]


def tables(texts: list[str | None], n_gold: int = 60, **more: object) -> tuple[pd.DataFrame, ...]:
    """Return labels and gold of so many texts; the last ones are gold."""
    rng = np.random.default_rng(0)
    rows = len(texts)
    frame = pd.DataFrame(
        {
            "group": rng.choice(["men", "women"], rows),
            "comment": texts,
            "labeler": rng.choice(["ann", "bob"], rows),
            "label": rng.integers(0, 2, rows),
            **more,
        }
    )
    labels, gold = frame.iloc[:-n_gold], frame.iloc[-n_gold:]
    gold = gold.drop(columns="labeler").rename(columns={"label": "gold"})
    return labels.reset_index(drop=True), gold.reset_index(drop=True)


@pytest.mark.parametrize("language", WORDS)
def test_sentences_are_read_in_many_languages(language):
    rng = np.random.default_rng(1)
    data = load(*tables(sentences(rng, 500, language)), CheckConfig())
    assert data.features == ("comment",)
    assert data.labels.trees.shape == (440, 40)
    assert np.isfinite(data.labels.linear[:]).all()
    (said,) = data.messages
    assert said == (
        "column 'comment' is read as text: 500 different texts, 40 components of words and parts "
        "of words"
    )


def test_text_without_spaces_is_read():
    rng = np.random.default_rng(1)
    signs = list("这本书写得非常好不太坏便宜旧新但是很房子花园")
    data = load(*tables(["".join(rng.choice(signs, 14)) for _ in range(300)]), CheckConfig())
    assert data.features == ("comment",)


IDS = {
    "UUIDs": lambda n: str(uuid.UUID(int=n * 7919 << 64)),
    "file names": lambda n: f"scans/2024/letter_of_applicant-{n:05d}_page.final.jpg",
    "e-mail addresses": lambda n: f"anna.maria.smith{n}@mail.example.org",
    "web addresses": lambda n: f"https://example.org/the/long/path/of/article-{n}?from=the-list",
    "hashes": lambda n: f"{n * 2654435761 % 2**64:016x}",
    "names": lambda n: f"{['Anna', 'Bob', 'Cem', 'Dora'][n % 4]} {'abcdefghij'[n % 10]}{n}son",
    "numbers with units": lambda n: f"{n} kg net weight"[: 8 + n % 3],
}


@pytest.mark.parametrize("kind", IDS)
def test_what_only_identifies_rows_is_not_read_as_text(kind):
    labels, gold = tables([IDS[kind](n) for n in range(500)], age=np.arange(500) % 37)
    data = load(labels, gold, CheckConfig())
    assert data.features == ("age",)
    assert any("'comment' is ignored" in message for message in data.messages)


@pytest.mark.parametrize(("rows_each", "read"), [(5, True), (100, True)])
def test_sentences_that_many_people_judged_are_text(rows_each, read):
    texts = sentences(np.random.default_rng(3), 80) * rows_each
    data = load(*tables(texts), CheckConfig())
    assert (data.labels.trees.shape[1] == 8) is read  # ten texts per component
    assert set(data.tree_types) == {"q"}


def test_long_names_of_categories_stay_categories():
    jobs = [f"{one} and {two} workers" for one in "abcdefgh" for two in "stuvwxyz"]
    jobs = [job.replace(job[0], job[0] * 4, 1) for job in jobs]
    data = load(*tables(jobs * 30), CheckConfig())
    assert data.tree_types == ("c",)
    asked = load(*tables(jobs * 30), CheckConfig(columns=Columns(text="comment")))
    assert asked.tree_types.count("q") > 1  # components; with 64 texts each is a category, too


def test_components_are_those_of_tf_idf_without_hashing():
    """A second implementation, with a vocabulary in place of hashes and with every text at once."""
    texts = sorted(set(sentences(np.random.default_rng(4), 900)))
    labels, gold = tables(texts)
    data = load(labels, gold, CheckConfig())
    folded = [text.casefold() for text in texts]
    one_word = r"\w+|[^\w\s]"
    by_word = TfidfVectorizer(sublinear_tf=True, token_pattern=one_word)
    words = by_word.fit_transform(folded)
    apart = [" ".join([*text.rstrip(".").split(), "."]) for text in folded]
    parts = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    both = hstack([words, parts.fit_transform(apart)]).tocsr()
    expected = TruncatedSVD(40, algorithm="arpack", random_state=0).fit_transform(both)
    found = np.empty((len(texts), 40))
    found[data.labels.position] = data.labels.trees[:]
    found[len(labels) + data.gold.position] = data.gold.trees
    for place in range(5):
        assert abs(np.corrcoef(found[:, place], expected[:, place])[0, 1]) > 0.999, place
    inside = expected @ np.linalg.lstsq(expected, found, rcond=None)[0]
    assert np.square(found - inside).sum() < 0.05 * np.square(found).sum()


def test_what_decisions_depend_on_is_kept_though_texts_differ_more_in_other_ways():
    # 2,000 texts about 80 topics of equal size; what is decided on is a word that few texts use.
    rng = np.random.default_rng(5)
    names = np.array([f"{a}{b}{c}" for a in "bdfglm" for b in "aeiou" for c in "knprst"])
    topics = names[:160].reshape(80, 2)
    rare = rng.random(2000) < 0.02
    texts = [
        " ".join(["about", *rng.permutation(topics[rng.integers(80)]), *rng.choice(names[160:], 3)])
        + (" zzyzx" if each else "")
        for each in rare
    ]
    data = load(
        *tables(texts, label=rare.astype(int)), CheckConfig(columns=Columns(text="comment"))
    )
    components = data.labels.trees[:]
    assert components.shape[1] == 40
    told = LinearRegression().fit(components, data.labels.decision)
    assert told.score(components, data.labels.decision) > 0.8


def test_case_and_styled_letters_do_not_matter():
    texts = sentences(np.random.default_rng(4), 300)
    plain = "this house is not good"
    texts[0], texts[1], texts[2] = plain, plain.upper(), "this 𝗵𝗼𝘂𝘀𝗲 is not good"
    labels, gold = tables(texts)
    data = load(labels, gold, CheckConfig())
    rows = [int(np.flatnonzero(data.labels.position == place)[0]) for place in range(3)]
    found = data.labels.trees[:][rows]
    np.testing.assert_allclose(found[1:], found[:1].repeat(2, axis=0), atol=1e-6)


def test_an_emoji_makes_a_difference():
    rng = np.random.default_rng(4)
    happy = rng.random(600) < 0.5
    texts = [
        f"{text} {'😀' if good else '😡'}"
        for text, good in zip(sentences(rng, 600), happy, strict=True)
    ]
    labels, gold = tables(texts)
    data = load(labels, gold, CheckConfig())
    columns = np.column_stack([data.labels.linear[:], np.ones(len(labels))])
    good = happy[data.labels.position]
    fitted = columns @ np.linalg.lstsq(columns, good.astype(float), rcond=None)[0]
    assert ((fitted > 0.5) == good).mean() > 0.95


def test_the_order_of_rows_does_not_matter(same):
    texts = sentences(np.random.default_rng(5), 700)
    labels, gold = tables(texts)
    labels = pd.concat([labels, labels.iloc[:200]], ignore_index=True)
    one = load(labels, gold, CheckConfig())
    turned = load(labels.iloc[::-1], gold.sample(frac=1, random_state=1), CheckConfig())
    same(one, turned, but=("position", "labels_order"))


def test_every_format_gives_the_same(same, tmp_path, monkeypatch):
    rng = np.random.default_rng(6)
    texts = sentences(rng, 300) + sentences(rng, 300, "German")
    texts[7] = 'with a "quote", a comma\nand a line break 🙂'
    texts[11] = None
    labels, gold = tables(texts)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    labels.to_parquet(tmp_path / "labels.parquet", row_group_size=100)
    frame = load(labels, gold, CheckConfig())
    same(frame, load(tmp_path / "labels.csv", gold, CheckConfig()))
    same(frame, load(tmp_path / "labels.parquet", gold, CheckConfig()))
    monkeypatch.setattr(parquet_files, "LARGE_SHARE", 0.0)
    large = load(tmp_path / "labels.parquet", gold, CheckConfig())
    assert isinstance(large.labels.trees.columns[0], np.memmap)
    same(frame, large)


def test_a_column_that_does_not_fit_into_memory_is_one_line(tmp_path, monkeypatch):
    labels, gold = tables(sentences(np.random.default_rng(6), 300))
    labels.to_parquet(tmp_path / "labels.parquet")
    monkeypatch.setattr(parquet_files, "left", lambda: 1000)
    with pytest.raises(InputError, match=r"column '\w+' of .* takes .* GB by itself"):
        load(tmp_path / "labels.parquet", gold, CheckConfig())


@pytest.mark.parametrize("nothing", [None, "", "  \n", np.nan])
def test_missing_texts_are_told_apart_and_otherwise_average(nothing):
    texts: list = sentences(np.random.default_rng(7), 400)
    for place in range(0, 400, 10):
        texts[place] = nothing
    labels, gold = tables(texts)
    data = load(labels, gold, CheckConfig())
    assert data.features == ("comment",)
    linear = data.labels.linear[:]
    gone = data.labels.position % 10 == 0
    assert linear.shape[1] == data.labels.trees.shape[1] == 37  # 36 components for 360 texts
    np.testing.assert_array_equal(linear[:, -1] > 0, gone)
    trees = np.concatenate([data.labels.trees[:], data.gold.trees])
    there = np.concatenate([~gone, np.asarray(data.gold.position) % 10 != 0])
    assert np.ptp(trees[~there, :36], axis=0).max() == 0
    assert np.isfinite(trees).all()


def test_huge_texts_are_cut_and_it_is_said():
    texts = sentences(np.random.default_rng(8), 300)
    start = "long words here " * 700
    texts[0], texts[1], texts[2] = f"{start} good", f"{start} bad " * 3, "x" * 3_000_000
    labels, gold = tables(texts)
    data = load(labels, gold, CheckConfig())
    assert "3 texts are cut after 10,000 characters" in data.messages[0]
    rows = [int(np.flatnonzero(data.labels.position == place)[0]) for place in range(2)]
    first, second = data.labels.trees[:][rows]
    np.testing.assert_array_equal(first, second)
    assert data.labels.mark[rows[0]] != data.labels.mark[rows[1]]


def test_content_hashes_see_the_whole_text():
    texts = sentences(np.random.default_rng(8), 300)
    labels, gold = tables(texts)
    before = load(labels, gold, CheckConfig()).labels_hash
    labels.loc[5, "comment"] = f"{texts[5]}!"
    assert load(labels, gold, CheckConfig()).labels_hash != before


def test_named_columns_are_read_beside_named_features():
    rng = np.random.default_rng(9)
    labels, gold = tables(
        sentences(rng, 300), title=[f"item {n}" for n in range(300)], age=np.arange(300) % 50
    )
    config = CheckConfig(features=("age",), columns=Columns(text=("title", "comment")))
    data = load(labels, gold, config)
    assert data.features == ("age", "comment", "title")
    assert CheckConfig(columns=Columns(text="title")).columns.text == ("title",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("coment", r"labels has no feature column 'coment'. Did you mean 'comment'"),
        ("age", r"column 'age' of labels holds a number, not text: take it out of columns.text"),
        ("same", r"'same' holds the same text everywhere: take it out of columns.text"),
        ("none", r"'none' has no values: take it out of columns.text"),
    ],
)
def test_a_column_that_cannot_be_text_is_refused_in_one_line(text, said):
    rng = np.random.default_rng(9)
    labels, gold = tables(
        sentences(rng, 300), age=np.arange(300) % 50, same="a text", none=pd.Series([None] * 300)
    )
    with pytest.raises(InputError, match=said):
        load(labels, gold, CheckConfig(columns=Columns(text=text)))


def test_a_column_has_one_role():
    with pytest.raises(InputError, match=r"'label' cannot be both 'text' and 'label'"):
        Columns(text="label")


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), text.count("a"), text.count(" ")] for text in texts], dtype=float)


def test_a_function_of_the_users_own_reads_texts():
    texts = sentences(np.random.default_rng(10), 400)
    labels, gold = tables(texts)
    data = load(labels, gold, CheckConfig(), text_model=lengths)
    np.testing.assert_array_equal(
        data.labels.trees[:], lengths([texts[place] for place in data.labels.position])
    )
    assert data.messages[0].endswith("the 3 numbers that the text model returns")


def test_what_a_function_returns_is_reduced_where_it_is_wide():
    rng = np.random.default_rng(10)
    turn = rng.normal(size=(3, 200))
    asked: list[str] = []

    def wide(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return lengths(texts) @ turn

    texts = sentences(rng, 500)
    labels, gold = tables(texts)
    data = load(pd.concat([labels, labels]), gold, CheckConfig(), text_model=wide)
    assert sorted(asked) == sorted(texts)  # each once
    assert data.labels.trees.shape[1] <= 40
    known = lengths([texts[place % len(labels)] for place in data.labels.position])
    columns = np.column_stack([data.labels.trees[:], np.ones(len(known))])
    left = known - columns @ np.linalg.lstsq(columns, known, rcond=None)[0]
    assert np.abs(left).max() < 1e-3


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda texts: np.zeros(len(texts)), r"shape \(\d+,\) .* one vector per text is needed"),
        (lambda _: np.zeros((3, 5)), r"shape \(3, 5\)"),
        (lambda texts: np.full((len(texts), 5), np.nan), r"not numbers for column 'comment'"),
        (lambda texts: [["a"]] * len(texts), r"the text model failed on column 'comment'"),
    ],
)
def test_a_function_that_returns_something_else_is_one_line(model, said):
    labels, gold = tables(sentences(np.random.default_rng(10), 300))
    with pytest.raises(InputError, match=said):
        load(labels, gold, CheckConfig(), text_model=model)


def test_a_model_that_is_not_there_is_one_line(tmp_path):
    labels, gold = tables(sentences(np.random.default_rng(10), 300))
    with pytest.raises(InputError, match=r"'all-MiniLM' is not a folder: .* disk only"):
        load(labels, gold, CheckConfig(text_model="all-MiniLM"))
    with pytest.raises(InputError, match=r"pip install sentence-transformers|cannot be loaded"):
        load(labels, gold, CheckConfig(text_model=str(tmp_path)))


def _excel(table: pd.DataFrame, path: Path) -> Path:
    table.to_excel(path.with_suffix(".xlsx"), index=False)
    return path.with_suffix(".xlsx")


def _json_lines(table: pd.DataFrame, path: Path) -> Path:
    table.to_json(path.with_suffix(".jsonl"), orient="records", lines=True)
    return path.with_suffix(".jsonl")


def _utf16(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path.with_suffix(".csv"), index=False, sep=";", encoding="utf-16")
    return path.with_suffix(".csv")


@pytest.mark.parametrize("keep", [_excel, _json_lines, _utf16])
def test_every_source_gives_the_components_of_the_same_texts_in_parquet(keep, tmp_path):
    """Umlauts, emoji, quotes, commas and line breaks are part of the text."""
    rng = np.random.default_rng(6)
    texts = sentences(rng, 300, "German")
    texts = [f'{text} "ja", 😀\nund; mehr' if n % 3 else text for n, text in enumerate(texts)]
    labels, gold = tables(texts)
    labels.to_parquet(tmp_path / "labels.parquet")
    gold.to_parquet(tmp_path / "gold.parquet")
    typed = load(tmp_path / "labels.parquet", tmp_path / "gold.parquet", CheckConfig())
    kept = load(keep(labels, tmp_path / "one"), keep(gold, tmp_path / "two"), CheckConfig())
    for table in ("labels", "gold"):
        one, other = (getattr(each, table) for each in (typed, kept))
        np.testing.assert_array_equal(one.position, other.position)
        np.testing.assert_array_equal(one.trees[:], other.trees[:])
        np.testing.assert_array_equal(one.linear[:], other.linear[:])
