"""The published evaluation, run again: the same grid of settings, their figures beside ours."""

from mdba_checks.reproduction.grid import Cell, Grid, run_cell, run_grid
from mdba_checks.reproduction.plot import draw
from mdba_checks.reproduction.summary import published, render, summarize

__all__ = ["Cell", "Grid", "draw", "published", "render", "run_cell", "run_grid", "summarize"]
