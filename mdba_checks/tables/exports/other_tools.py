"""Exports of doccano, Argilla and CVAT, and records with several answers each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from mdba_checks.errors import InputError
from mdba_checks.tables.exports.answers import Answers, flat, one_question, one_value

_LABELER_KEY = re.compile(
    r"(annotator|labell?er|rater|worker|user|coder|judge)s?(_?ids?)?", re.IGNORECASE
)
_LABEL_KEY = re.compile(r"(?i)(label|annotation|answer|rating|vote|value|judge?ment)s?")
_GOLD_KEY = re.compile(r"(?i)(gold|truth|ground_truth|correct)(_label)?|label_gold")
_UNSAFE = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)


# --- doccano -------------------------------------------------------------------------------------


def is_doccano(records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether records are an export of doccano: a text with a list of labels."""
    first = records[0]
    new = isinstance(first.get("label"), list) and ("text" in first or "data" in first)
    old = isinstance(first.get("annotations"), list) and any(
        {"user", "label"} <= set(each) for each in first["annotations"] if isinstance(each, Mapping)
    )
    return new or old


def read_doccano(
    files: Mapping[str, Sequence[Mapping[str, Any]]], where: str, question: str | None
) -> Answers:
    """Return the answers; a file is one labeler's, unless records name the user."""
    del where, question  # there is one question to a project
    answers = Answers()
    for labeler, records in files.items():
        for number, record in enumerate(records, start=1):
            given = record.get("annotations")
            about = {
                name: value
                for name, value in record.items()
                if name not in ("id", "label", "annotations", "Comments", "comments")
            }
            item = answers.add_item(record.get("id", number), flat(about))
            if isinstance(given, list):
                for each in given:
                    answers.add(item, each.get("user"), each.get("label"))
                continue
            answers.add(item, labeler, one_value(record.get("label")))
    return answers


# --- Argilla -------------------------------------------------------------------------------------


def is_argilla(records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether records are an export of Argilla, nested or as a data set."""
    first = records[0]
    nested = "responses" in first and isinstance(first.get("fields"), Mapping)
    return nested or any(name.endswith(".responses") for name in first)


def read_argilla(records: Sequence[Mapping[str, Any]], where: str, question: str | None) -> Answers:
    """Return the submitted responses."""
    questions = {name: None for record in records for name, _ in _responses(record)}
    asked = one_question(questions, question, where)
    answers = Answers()
    for number, record in enumerate(records, start=1):
        about = {**(record.get("fields") or {}), **(record.get("metadata") or {})}
        if "fields" not in record:
            about = {n: v for n, v in record.items() if not re.search(r"\.(resp|sugg)", n)}
        about = {n: v for n, v in flat(about).items() if n not in ("id", "_server_id")}
        item = answers.add_item(record.get("id", number), about)
        for name, given in _responses(record):
            for who, value, status in given if name == asked else ():
                if status in (None, "submitted"):
                    answers.add(item, who, one_value(value))
                else:
                    answers.skipped[f"with the status {status}"] += 1
    return answers


def _responses(record: Mapping[str, Any]) -> list[tuple[str, list[tuple[Any, Any, Any]]]]:
    """Return per question who answered what, and in which state the answer is."""
    held = record.get("responses")
    if isinstance(held, Mapping):  # since version 2
        return [
            (name, [(each.get("user_id"), each.get("value"), each.get("status")) for each in given])
            for name, given in held.items()
        ]
    if isinstance(held, list):  # version 1
        found: dict[str, list[tuple[Any, Any, Any]]] = {}
        for each in held:
            for name, value in (each.get("values") or {}).items():
                one = value.get("value") if isinstance(value, Mapping) else value
                found.setdefault(name, []).append((each.get("user_id"), one, each.get("status")))
        return list(found.items())
    columns = [name.removesuffix(".responses") for name in record if name.endswith(".responses")]
    return [
        (
            name,
            list(
                zip(
                    record.get(f"{name}.responses.users") or [],
                    record[f"{name}.responses"] or [],
                    record.get(f"{name}.responses.status")
                    or ["submitted"] * len(record[f"{name}.responses"] or []),
                    strict=False,
                )
            ),
        )
        for name in columns
    ]


# --- CVAT ----------------------------------------------------------------------------------------


def read_cvat(files: Mapping[str, Path], where: str, question: str | None) -> Answers:
    """Return the tags of images; a file is one labeler's, named by its assignee or by the file.

    A file of a ground truth job holds right answers.
    """
    answers = Answers()
    for name, path in files.items():
        content = path.read_bytes()
        if _UNSAFE.search(content):
            raise InputError(f"{path} defines entities, which no export of CVAT does")
        try:
            root = ET.fromstring(content)  # noqa: S314 # nosec B314: entities are refused above
        except ET.ParseError as error:
            raise InputError(f"{path} is not valid XML: {error}") from None
        if root.tag != "annotations" or root.find("image") is None:
            raise InputError(f"{path} is not 'CVAT for images': its outer tag is <{root.tag}>")
        kind = root.findtext("meta/job/type") or ""
        labeler = root.findtext(".//assignee/username") or root.findtext(".//assignee") or name
        for image in root.iter("image"):
            item = answers.add_item(image.get("name"), {"image": image.get("name")})
            tags = [each.get("label") for each in image.iter("tag")]
            if question is not None:
                tags = [
                    attribute.text
                    for attribute in image.iter("attribute")
                    if attribute.get("name") == question
                ]
            answers.add(item, labeler.strip() or name, one_value(tags), right="ground" in kind)
    if not answers.given and not answers.right:
        raise InputError(
            f"{where} has no tags of whole images: boxes and masks are not decisions about an "
            "image; name an attribute with --question"
        )
    return answers


# --- Records with several answers each -----------------------------------------------------------


def answer_keys(records: Sequence[Mapping[str, Any]]) -> tuple[str, str, str | None] | None:
    """Return the keys of labelers and labels in records, and the list that they are in.

    Either both are lists of one length, ``annotator_ids`` and ``labels``, or one list holds objects
    with both.
    """
    first = next((r for r in records if any(isinstance(v, list) and v for v in r.values())), None)
    if first is None:
        return None
    lists = {name: value for name, value in first.items() if isinstance(value, list) and value}
    for name, value in lists.items():
        if isinstance(value[0], Mapping):
            who = next((key for key in value[0] if _LABELER_KEY.fullmatch(key)), None)
            what = next((key for key in value[0] if _LABEL_KEY.fullmatch(key)), None)
            if who and what:
                return who, what, name
    who = next((name for name in lists if _LABELER_KEY.fullmatch(name)), None)
    what = next((name for name in lists if _LABEL_KEY.fullmatch(name)), None)
    if who and what and len(lists[who]) == len(lists[what]):
        return who, what, None
    return None


def read_records(records: Sequence[Mapping[str, Any]], where: str, question: str | None) -> Answers:
    """Return the answers in records with several answers each."""
    keys = answer_keys(records)
    if keys is None:
        raise InputError(f"{where} holds no list of answers")
    who, what, inside = keys
    what = question or what
    right = next((name for name in records[0] if _GOLD_KEY.fullmatch(name)), None)
    answers = Answers()
    for number, record in enumerate(records, start=1):
        left_out = {who, what, inside, right, "id"}
        about = {name: value for name, value in record.items() if name not in left_out}
        item = answers.add_item(record.get("id", number), flat(about))
        if inside is None:
            pairs = list(zip(record.get(who) or [], record.get(what) or [], strict=False))
        else:
            pairs = [(each.get(who), each.get(what)) for each in record.get(inside) or []]
        for labeler, label in pairs:
            answers.add(item, labeler, one_value(label))
        if right is not None and record.get(right) is not None:
            answers.add(item, None, one_value(record[right]), right=True)
    return answers
