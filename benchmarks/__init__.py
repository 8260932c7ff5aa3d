"""Measurements of the library: accuracy, speed and scale."""
