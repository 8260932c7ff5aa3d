"""Which items experts should judge: chances by worth, draws, and rounds that add up.

`worth_of` says how much the right answer to an item would narrow undecided comparisons, `chances`
turns that into probabilities that are safe against a wrong worth, `draw` draws, and
`combined_weights` and `Look` make several rounds one gold table with intervals that hold.
"""

from mdba_checks.findings.gold_choice.drawing import Chances, chances, draw
from mdba_checks.findings.gold_choice.families import find_families
from mdba_checks.findings.gold_choice.rounds import (
    MOST_ROUNDS,
    Look,
    about_rounds,
    at_look,
    combined_weights,
)
from mdba_checks.findings.gold_choice.stopping import OpenGaps, Outlook, look_ahead, outlook_of
from mdba_checks.findings.gold_choice.worth import Wanted, Worth, chance_of_right, worth_of

__all__ = [
    "MOST_ROUNDS",
    "Chances",
    "Look",
    "OpenGaps",
    "Outlook",
    "Wanted",
    "Worth",
    "about_rounds",
    "at_look",
    "chance_of_right",
    "chances",
    "combined_weights",
    "draw",
    "find_families",
    "look_ahead",
    "outlook_of",
    "worth_of",
]
