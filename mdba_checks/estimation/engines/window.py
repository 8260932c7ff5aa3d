"""A few tasks under way at a time, answers in order: how engines on clusters bound memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

S = TypeVar("S")
F = TypeVar("F")
T = TypeVar("T")


def in_order(
    start: Callable[[S], F], finish: Callable[[F], T], over: Iterable[S], *, most: int
) -> Iterator[T]:
    """Start at most so many tasks before the first of them is finished.

    Examples
    --------
    >>> list(in_order(lambda n: n + 1, lambda future: 10 * future, [1, 2, 3], most=2))
    [20, 30, 40]
    """
    under_way: deque[F] = deque()
    for each in over:
        if len(under_way) == most:
            yield finish(under_way.popleft())
        under_way.append(start(each))
    while under_way:
        yield finish(under_way.popleft())
