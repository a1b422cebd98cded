"""Koo et al. (2010), table 1: accuracy, share of certified trees and speed of the three models."""

from __future__ import annotations

from experiments.layout import NAMES, beside, languages, percent, pick, seconds, table
from experiments.measure import summary
from experiments.setting import PLAIN, Setting, timed, workload
from experiments.store import Row
from nonproj.dual.decomposition import dual_decomposition
from nonproj.types import MODELS

TITLE = "Table 1 of Koo et al. (2010): accuracy, certificates, speed"
SIZES = ("sentences", "iterations")


def units(setting: Setting) -> list[tuple[str, str]]:
    """Language and model; for English also the models without margin."""
    plain = [(language, model + PLAIN) for language in setting.among("english") for model in MODELS[1:]]
    return [(language, model) for language in setting.languages for model in MODELS] + plain


def run(setting: Setting, language: str, model: str) -> list[Row]:
    """Decode the test file with the paper's options and with our own."""
    work = workload(setting, language, model)
    rows = []
    for rule, options in (("paper", work.paper), ("ours", work.options)):
        dual_decomposition(*work.problems[0].parts, work.order, options)  # compile before timing
        decoded, spent = timed(lambda o=options: [dual_decomposition(*p.parts, work.order, o) for p in work.problems])
        rows.append({"language": language, "model": model, "rule": rule} | summary(work.problems, decoded, spent))
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return two tables: the paper's options beside the paper, and our own options."""
    lines, own = [], []
    for language in languages(rows):
        theirs = papers["rows"].get(language, {})
        arc, sibling, both = (pick(rows, language=language, model=model, rule="paper")[0] for model in MODELS)
        cells = [beside(theirs.get(name), percent(row["uas"])) for name, row in _named(arc, sibling, both)]
        cells += [beside(theirs.get(n), percent(row["agreed"])) for n, row in (("CertS", sibling), ("CertG", both))]
        cells += [beside(theirs.get(n), seconds(row["seconds"])) for n, row in (("TimeS", sibling), ("TimeG", both))]
        lines.append([f"{language.title()} ({theirs.get('row', 'not in the paper')})", arc["sentences"], *cells])
    for row in rows:
        if row["model"] != "arc":
            margin = "without" if str(row["model"]).endswith(PLAIN) else "with"
            name = f"{str(row['language']).title()} {NAMES[str(row['model']).removesuffix(PLAIN)]}"
            figures = [percent(row["uas"]), percent(row["agreed"]), f"{row['iterations']:.1f}", seconds(row["seconds"])]
            own.append([name, margin, {"paper": "the paper's", "ours": "Polyak's, K = 250"}[row["rule"]], *figures])
    header = ["paper's row", "our sentences", "MST", "Sib", "G+S", "CertS", "CertG", "TimeS", "TimeG"]
    return [
        "Each cell: the paper / **ours**.",
        table(header, lines),
        "The same models by the paper's rule and by our own decoding; English also trained without margin:",
        table(["", "margin", "step sizes", "UAS", "certificates", "iterations", "seconds a sentence"], own),
    ]


def _named(arc: Row, sibling: Row, both: Row) -> list[tuple[str, Row]]:
    return [("MST", arc), ("Sib", sibling), ("G+S", both)]
