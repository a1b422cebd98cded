"""Scores, comparisons and model descriptions as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nonproj.errors import counted, one_line

FIGURES = {
    "uas": "unlabelled attachment (UAS)",
    "las": "labelled attachment (LAS)",
    "label_accuracy": "label accuracy",
    "complete": "complete trees",
    "complete_labelled": "complete trees, labelled",
    "root_accuracy": "roots found",
}
"""The main metrics of an evaluation, and their names."""

CROSSING = {"precision": "precision", "recall": "recall", "f1": "F1", "right_head": "right head"}
"""Metrics of non-projective arcs; ``right_head`` is the share of the predicted ones with the correct head."""


def evaluation_report(figures: dict[str, Any]) -> str:
    """Return the metrics of an evaluation as plain text, in per cent.

    Parameters
    ----------
    figures : dict
        From `nonproj.evaluation.scores.Evaluation.as_dict`.

    Examples
    --------
    >>> from nonproj.evaluation.scores import Evaluation
    >>> print(evaluation_report(Evaluation().as_dict()).splitlines()[0])
    0 sentences, 0 words; per cent
    """
    scopes = figures["without_punctuation"], figures["with_punctuation"]
    given = f"; {figures['given']}" if figures["given"] else ""
    size = f"{counted(figures['sentences'], 'sentence')}, {counted(figures['words'], 'word')}"
    lines = [f"{size}{given}; per cent", ""]
    lines.append(_row("", "without punctuation", "with punctuation"))
    lines += [_row(name, *(_percent(scope[key]) for scope in scopes)) for key, name in FIGURES.items()]
    crossing = [scope["nonprojective"] for scope in scopes]
    for key, name in CROSSING.items():
        lines.append(_row(f"non-projective arcs, {name}", *(_percent(arcs[key]) for arcs in crossing)))
    for key, name in (("predicted", "predicted"), ("gold", "gold"), ("common", "in both trees")):
        lines.append(_row(f"non-projective arcs, {name}", *(str(arcs[key]) for arcs in crossing)))
    lines.append(_row("words counted", *(str(scope["words"]) for scope in scopes)))
    if figures["certificates"]:
        rates = figures["certificates"]
        lines += ["", _row("trees provably best over the candidate arcs", "agreed", "certified", "iterations")]
        shares = _percent(rates["agreed"]), _percent(rates["certified"])
        lines.append(_row(f"  {counted(rates['sentences'], 'sentence')}", *shares, f"{rates['mean_iterations']:.1f}"))
    if figures["speed"]:
        speed = figures["speed"]
        lines += ["", f"{speed['seconds']:.2f} seconds, {speed['words_per_second']:.0f} words per second"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def comparison_report(names: Sequence[str], result: dict[str, Any]) -> str:
    """Return the result of `nonproj.evaluation.significance.compare` for two files as plain text, in per cent."""
    lines = [f"A: {names[0]}", f"B: {names[1]}"]
    size = f"{counted(result['sentences'], 'sentence')}, {counted(result['words'], 'word')}"
    lines += [f"{size}; per cent, without punctuation", ""]
    lines.append(_row("", "A", "B", "A - B", "p"))
    for key in ("uas", "las"):
        if scores := result[key]:
            difference = f"{100 * scores['difference']:+.2f}"
            cells = _percent(scores["first"]), _percent(scores["second"]), difference, f"{scores['p']:.4f}"
            lines.append(_row(FIGURES[key], *cells))
    lines += ["", "p: two-sided paired permutation test over sentences"]
    return "\n".join(lines) + "\n"


_TABLES = {
    "label": "by gold label",
    "tag": "by tag",
    "arc_length": "by length of the gold arc",
    "depth": "by depth, in arcs from the root",
    "sentence_length": "by sentence length, in words",
    "nonprojective": "by kind of gold arc",
    "nonprojective_label": "non-projective, by gold label",
}

_CONFUSIONS = 20


def error_report(errors: dict[str, Any]) -> str:
    """Return the tables of `nonproj.evaluation.errors.error_tables` for one or two parsers as plain text, in per cent.

    Only the twenty most frequent pairs of confused labels are shown.
    """
    lines = []
    for key, rows in errors["tables"].items():
        several = bool(rows) and len(rows[0]["uas"]) > 1
        heads = ("UAS A", "UAS B", "A - B", "LAS A", "LAS B", "A - B") if several else ("UAS", "LAS")
        extra = ("precision",) if "precision" in (rows or [{}])[0] and not several else ()
        lines += ["", _narrow(_TABLES[key], "words", *heads, *extra)]
        for row in rows:
            scores = [cell for name in ("uas", "las") for cell in _cells(row[name] or [None] * len(row["uas"]))]
            scores += [_percent(share) for share in row["precision"]] if extra else []
            lines.append(_narrow(f"  {one_line(row['name'])}", str(row["words"]), *scores))
    if errors["confusions"]:
        several = len(errors["confusions"][0]["counts"]) > 1
        lines += ["", _narrow("confused labels: gold, predicted", *("AB" if several else ("words",)))]
        for pair in errors["confusions"][:_CONFUSIONS]:
            name = f"  {one_line(pair['gold'])}, {one_line(pair['predicted'])}"
            lines.append(_narrow(name, *map(str, pair["counts"])))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _cells(shares: Sequence[float | None]) -> list[str]:
    """Return the shares of one parser, or those of two with their difference."""
    cells = [_percent(share) for share in shares]
    if len(shares) == 2:
        first, second = shares
        cells.append("-" if first is None or second is None else f"{100 * (first - second):+.2f}")
    return cells


def _narrow(name: str, *cells: str) -> str:
    """Return one row of a table of many columns."""
    return f"{name:<36}" + "".join(f"{cell:>9}" if i == 0 else f"{cell:>10}" for i, cell in enumerate(cells))


def ud_report(names: Sequence[str], scores: Sequence[dict[str, dict[str, Any]]]) -> str:
    """Return the scores of one or two files from `nonproj.evaluation.universal.ud_scores` as plain text, in per cent.

    For one file this is the table printed by the shared task's own script.
    """
    if len(scores) == 1:
        lines = ["Metric     | Precision |    Recall |  F1 Score | AligndAcc", f"{'-' * 11}" + f"+{'-' * 11}" * 4]
        for metric, score in scores[0].items():
            cells = " |".join(f"{100 * score[key]:10.2f}" for key in ("precision", "recall", "f1"))
            accuracy = score["aligned_accuracy"]
            lines.append(f"{metric:11}|{cells} |" + ("" if accuracy is None else f"{100 * accuracy:10.2f}"))
        return "\n".join(lines) + "\n"
    lines = [f"A: {names[0]}", f"B: {names[1]}", "F1 scores, per cent", "", _row("", "A", "B", "A - B")]
    for metric in filter(scores[1].get, scores[0]):
        lines.append(_row(metric, *_cells([each[metric]["f1"] for each in scores])))
    return "\n".join(lines) + "\n"


_TEXT_TABLES = {
    "cause": ("words without the correct head and label, by cause", {"counts": "words"}),
    "sentence": ("sentence boundaries, by the last character", {"missed": "missed", "wrong": "wrong"}),
    "word": ("differences in tokens and their words", {"counts": "places"}),
    "known": ("aligned words", {}),
    "tag": ("aligned words, by gold tag", {}),
    "feature": ("features", {"missing": "missing", "wrong": "wrong", "superfluous": "superfl."}),
    "label": ("aligned words, by gold label", {}),
}
_ACCURACY = {"aligned": "aligned", "upos": "UPOS", "ufeats": "UFeats", "lemmas": "Lemmas", "uas": "UAS", "las": "LAS"}
_CONFUSED = {
    "words": "tokens and their words",
    "tag": "confused tags",
    "lemma": "wrong lemmas",
    "label": "confused labels",
}


def text_error_report(errors: dict[str, Any]) -> str:
    """Return the tables of `nonproj.evaluation.text_errors.text_errors` for one or two parsers as plain text.

    Accuracy is in per cent of the aligned words.  Only the twenty most frequent differences of each kind are shown.
    """
    lines = []
    for key, rows in errors["tables"].items():
        title, columns = _TEXT_TABLES[key]
        columns = columns or _ACCURACY
        several = bool(rows) and len(rows[0][next(iter(columns))]) > 1
        heads = [f"{name} {parser}".strip() for name in columns.values() for parser in ("AB" if several else [""])]
        gold = ["gold"] if rows and "gold" in rows[0] else []
        lines += ["", _narrow(title, *gold, *heads)]
        for row in rows[: None if columns is _ACCURACY else _CONFUSIONS]:
            cells = [row[name] for name in gold] + [cell for name in columns for cell in row[name]]
            shown = (str(cell) if isinstance(cell, int) else _percent(cell) for cell in cells)
            lines.append(_narrow(f"  {one_line(row['name'])}", *shown))
    for key, title in _CONFUSED.items():
        pairs = errors["confusions"][key][:_CONFUSIONS]
        if pairs:
            heads = "AB" if len(pairs[0]["counts"]) > 1 else ("words",)
            lines += ["", "".join(f"{head:>9}" for head in heads) + f"  {title}: gold -> predicted"]
        for pair in pairs:
            counts = "".join(f"{count:>9}" for count in pair["counts"])
            lines.append(f"{counts}  {one_line(pair['gold'])} -> {one_line(pair['predicted'])}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def model_report(path: str, description: dict[str, Any], verified: bool) -> str:
    """Return the description of a model (see `nonproj.model.model.Model.describe`) as plain text."""
    training = dict(description["training"])
    epochs = training.pop("log", [])
    kind = "a model" if "parser" in description["weights"] else "a checkpoint of the training of a model"
    lines = [f"{path}: {kind} of {', '.join(description['config']['parts'])}"]
    if verified:
        lines.append("checksums match")
    lines += ["", "weights"]
    for name, table in description["weights"].items():
        size = f"{table['entries']:>12} {table['megabytes']:>8.1f} MB"
        lines.append(f"  {name:<20}{size}   {100 * table['nonzero']:.1f} % non-zero")
    sizes = description["vocabularies"] | {"labels": description["labels"]}
    for title, counts in (("vocabulary sizes", sizes), ("templates", description["templates"])):
        lines += ["", title] + [f"  {name:<20}{count:>12}" for name, count in counts.items()]
    for title, values in (("configuration", description["config"]), ("training", training)):
        lines += ["", title] + [f"  {name:<34}{_short(value)}" for name, value in _flat(values)]
    if epochs:
        columns = list(epochs[-1])
        lines += ["", "".join(f"{name:>12}" for name in columns)]
        lines += ["".join(f"{_short(epoch.get(name)):>12}" for name in columns) for epoch in epochs]
    return "\n".join(map(one_line, lines)) + "\n"


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested entries with their dotted names."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _short(value: object) -> str:
    """Return a value in a few digits."""
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


def _row(name: str, *cells: str) -> str:
    """Return one row of a table."""
    return f"{name:<44}" + "".join(f"{cell:>21}" if len(cells) == 2 else f"{cell:>14}" for cell in cells)


def _percent(share: float | None) -> str:
    """Return a share in per cent."""
    return "-" if share is None else f"{100 * share:.2f}"
