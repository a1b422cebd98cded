"""The figures of an evaluation as plain text."""

from __future__ import annotations


def as_text(figures: dict) -> str:
    """Lay the figures out as plain text, in per cent.

    Parameters
    ----------
    figures : dict
        As `nonproj.evaluation.scores.Evaluation.as_dict` returns them.

    Examples
    --------
    >>> from nonproj.evaluation.scores import Evaluation
    >>> print(as_text(Evaluation().as_dict()).splitlines()[0])
    0 sentences, 0 words; per cent
    """
    scopes = figures["without_punctuation"], figures["with_punctuation"]
    names = {
        "uas": "unlabelled attachment (UAS)",
        "las": "labelled attachment (LAS)",
        "label_accuracy": "label accuracy",
        "complete": "complete trees",
        "complete_labelled": "complete trees, labelled",
        "root_accuracy": "roots found",
    }
    lines = [f"{figures['sentences']} sentences, {figures['words']} words; per cent", ""]
    lines.append(_row("", "without punctuation", "with punctuation"))
    lines += [_row(name, *(_percent(scope[key]) for scope in scopes)) for key, name in names.items()]
    for measure in ("precision", "recall"):
        lines.append(
            _row(f"non-projective arcs, {measure}", *(_percent(scope["nonprojective"][measure]) for scope in scopes))
        )
    lines.append(_row("words counted", *(str(scope["words"]) for scope in scopes)))
    kept = scopes[0]
    lines += ["", _row("without punctuation, arcs of length", "precision", "recall", "gold arcs")]
    for name, arcs in kept["by_arc_length"].items():
        lines.append(_row(f"  {name}", _percent(arcs["precision"]), _percent(arcs["recall"]), str(arcs["gold"])))
    lines += ["", _row("without punctuation, sentences of", "UAS", "LAS", "words")]
    for name, part in kept["by_sentence_length"].items():
        lines.append(_row(f"  {name} words", _percent(part["uas"]), _percent(part["las"]), str(part["words"])))
    if figures["certificates"]:
        known = figures["certificates"]
        lines += ["", _row("trees provably best over the candidate arcs", "agreed", "certified", "iterations")]
        shares = _percent(known["agreed"]), _percent(known["certified"])
        lines.append(_row(f"  {known['sentences']} sentences", *shares, f"{known['mean_iterations']:.1f}"))
    if figures["speed"]:
        speed = figures["speed"]
        lines += ["", f"{speed['seconds']:.2f} seconds, {speed['words_per_second']:.0f} words a second"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _row(name: str, *cells: str) -> str:
    """Lay out one row of the table."""
    return f"{name:<44}" + "".join(f"{cell:>21}" if len(cells) == 2 else f"{cell:>14}" for cell in cells)


def _percent(share: float | None) -> str:
    """Write a share in per cent."""
    return "-" if share is None else f"{100 * share:.2f}"
