"""Does `gap` say how people decide? Half of everybody's labels, asked about the other half.

payraise (487 people, see `real_sets`): in every draw each person's labels are split in two. From
one half and a gold table the gap is estimated; in the other half it is counted, with the right
answers that are known for all items. The mean squared error is shown for `gap`, for `table_gap`
(the same without the crowd), for the difference in shares of yes, and for saying that nobody has a
gap; beside them how much of it is the noise of the held-out half itself. Run it from the root of
the checkout; the file is not part of it::

    python -m benchmarks.halves --data ../shared/data/real --draws 20
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.real_sets import DATA, payraise
from benchmarks.scoring import RESULTS, in_processes, write
from mdba_checks import CheckConfig, assess

SHOWN = {
    "answer": "",
    "squared_error": ".4f",
    "error_of_difference": ".4f",
    "worse_than_gap_in": "",
    "draws": "",
}


def counted(labels: pd.DataFrame, by: str = "label") -> pd.DataFrame:
    """Return per labeler the gap in the mean of a column, and the variance of that by chance."""
    cells = labels.groupby(["labeler", "group"])[by].agg(["mean", "size"]).unstack()
    # The variance of a mean of few decisions, smoothed: a rate of 1 by luck is not certain.
    smoothed = (cells["mean"] * cells["size"] + 1) / (cells["size"] + 2)
    variance = smoothed * (1 - smoothed) / cells["size"]
    gap = cells["mean"]["women"] - cells["mean"]["men"]
    return pd.DataFrame({"gap": gap, "variance": variance.sum(axis=1, min_count=2)})


def run(data: Path, seed: int) -> dict[str, Any]:
    """Return the squared errors of one draw."""
    rng = np.random.default_rng([seed, 23])
    made = payraise(data, rng)
    labels = made.labels.assign(right=np.asarray(made.right))
    order = rng.permutation(len(labels))
    place = labels.iloc[order].groupby("labeler").cumcount()
    first = (place % 2 == 0).reindex(labels.index).to_numpy()
    seen, held_out = labels[first], labels[~first]
    truth = counted(held_out[held_out["right"] == 1]).dropna()
    gaps = assess(
        seen.drop(columns="right"), made.gold, CheckConfig(reference="men", jobs=1)
    ).gaps.set_index("labeler")
    answers = {
        "gap": gaps["gap"],
        "table_gap": gaps["table_gap"],
        "shares of yes": counted(seen)["gap"],
        "nobody has a gap": gaps["gap"] * 0,
    }
    errors: dict[str, Any] = {
        name: float(((answer.reindex(truth.index) - truth["gap"]) ** 2).mean())
        for name, answer in answers.items()
    }
    return {"seed": seed, **errors, "noise of the held-out half": float(truth["variance"].mean())}


def summary(draws: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a line per answer: its mean, and how sure its distance from `gap` is."""
    rows = []
    for name in draws.columns.drop("seed"):
        more = draws[name] - draws["gap"]
        rows.append(
            {
                "answer": name,
                "squared_error": draws[name].mean(),
                "error_of_difference": more.std() / np.sqrt(len(draws)),
                "worse_than_gap_in": int((more > 0).sum()),
                "draws": len(draws),
            }
        )
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=RESULTS / "halves.csv")
    asked = parser.parse_args()
    found = []
    for each in in_processes(run, [(asked.data, seed) for seed in range(asked.draws)], asked.jobs):
        found.append(each)
        sys.stderr.write(f"{each}\n")
        sys.stderr.flush()
    write(asked.output, "benchmarks.halves", summary(pd.DataFrame(found)), SHOWN)
    print(asked.output.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
