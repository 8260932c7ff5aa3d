"""The published evaluation, run again: the same grid of settings, their figures beside ours."""

from benchmarks.paper.grid import Cell, Grid, run_cell, run_grid
from benchmarks.paper.plot import draw
from benchmarks.paper.summary import published, render, summarize

__all__ = ["Cell", "Grid", "draw", "published", "render", "run_cell", "run_grid", "summarize"]
