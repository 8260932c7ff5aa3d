"""Draw docs/images/two-gaps.svg: with few labels, the gap of the table is not how people decide.

Run it from the root of the checkout: python -m benchmarks.two_gaps
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "two gaps"
import matplotlib.pyplot as plt  # noqa: E402

TARGET = Path(__file__).parents[1] / "docs" / "images" / "two-gaps.svg"
PEOPLE, SHARE_RIGHT = 60, 0.3


def main() -> None:
    """Draw people whose decisions are simulated with few and with many labels."""
    rng = np.random.default_rng(3)
    rate = np.clip(rng.normal(0.85, 0.04, PEOPLE), 0, 1)
    gap = np.where(np.arange(PEOPLE) < 9, -0.3, rng.normal(0, 0.03, PEOPLE))
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
    for axis, labels in zip(axes, (40, 4000), strict=True):
        n = max(int(labels / 2 * SHARE_RIGHT), 1)
        women = rng.binomial(n, np.clip(rate + gap, 0, 1)) / n
        men = rng.binomial(n, rate) / n
        axis.axhspan(-0.1, 0.1, color="#e4e6e9", zorder=0)
        axis.plot([-0.5, 0.2], [-0.5, 0.2], color="#57606a", linewidth=1)
        axis.scatter(gap, women - men, s=14, color="#0072b2")
        axis.set_title(f"{labels:,} labels each", fontsize=11)
        axis.set_xlabel("gap: how the labeler decides")
    axes[0].set_ylabel("table_gap: of the labels in the table")
    figure.tight_layout()
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
