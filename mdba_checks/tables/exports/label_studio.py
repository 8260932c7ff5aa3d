"""Label Studio: JSON (tasks with annotations) and JSON-MIN (a flat record per annotation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mdba_checks.tables.exports.answers import Answers, flat, one_question, one_value

# What a result holds for questions about the whole item; boxes and spans are about parts of it.
_WHOLE = ("choices", "rating", "number", "taxonomy")
_MIN = {"annotator", "annotation_id"}
_NOT_ABOUT_ITEMS = {"annotation_id", "created_at", "updated_at", "lead_time", "annotator", "id"}


def is_label_studio(records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether records are an export of Label Studio."""
    first = records[0]
    whole = isinstance(first.get("data"), Mapping) and isinstance(first.get("annotations"), list)
    return whole or set(first) >= _MIN


def read_label_studio(
    records: Sequence[Mapping[str, Any]], where: str, question: str | None
) -> Answers:
    """Return the answers; annotations that are marked as ground truth are right answers."""
    if set(records[0]) >= _MIN:
        return _flat_export(records, where, question)
    asked = one_question(_questions(records), question, where)
    answers = Answers()
    for number, task in enumerate(records, start=1):
        about = {**flat(task.get("data") or {}), **flat(task.get("meta") or {}, "meta.")}
        item = answers.add_item(task.get("id", number), about)
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled"):
                answers.skipped["skipped by the labeler"] += 1
                continue
            label = _label(annotation, asked)
            answers.add(item, _who(annotation), label, right=bool(annotation.get("ground_truth")))
        answers.skipped["predictions of models"] += len(task.get("predictions") or [])
    return answers


def _questions(records: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    return {
        str(result.get("from_name")): None
        for task in records
        for annotation in task.get("annotations") or []
        for result in annotation.get("result") or []
        if any(kind in (result.get("value") or {}) for kind in _WHOLE)
    }


def _label(annotation: Mapping[str, Any], question: str) -> Any:
    for result in annotation.get("result") or []:
        if result.get("from_name") == question:
            value = result.get("value") or {}
            found = next((value[kind] for kind in _WHOLE if kind in value), None)
            if isinstance(found, list) and found and isinstance(found[0], list):  # a taxonomy
                return " / ".join(map(str, found[0]))
            return one_value(found)
    return None


def _who(annotation: Mapping[str, Any]) -> Any:
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        return by.get("email") or by.get("username") or by.get("id")
    return by


def _flat_export(records: Sequence[Mapping[str, Any]], where: str, question: str | None) -> Answers:
    """Read JSON-MIN, where the answer stands beside the fields of the task.

    Without a name for the question it is the one field that differs within an item, if there is one
    such field.
    """
    by_item: dict[Any, list[Mapping[str, Any]]] = {}
    for number, record in enumerate(records, start=1):
        by_item.setdefault(record.get("id", number), []).append(record)
    names = dict.fromkeys(n for record in records for n in record if n not in _NOT_ABOUT_ITEMS)
    differing = {
        name: None
        for name in names
        if any(len({str(r.get(name)) for r in group}) > 1 for group in by_item.values())
    }
    asked = one_question(names if question else differing, question, where)
    answers = Answers()
    for name, group in by_item.items():
        for record in group:
            about = {k: v for k, v in record.items() if k not in {*_NOT_ABOUT_ITEMS, asked}}
            item = answers.add_item(name, flat(about))
            value = record.get(asked)
            if isinstance(value, Mapping):
                value = value.get("choices")
            answers.add(item, record.get("annotator"), one_value(value))
    return answers
