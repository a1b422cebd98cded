"""Koo et al. (2010), table 1: accuracy of three sets of part types, share of certified trees, speed."""

from __future__ import annotations

from nonproj.dual.decoding import dual_decomposition
from research.experiments.layout import NAMES, beside, languages, percent, pick, seconds, shown, table
from research.experiments.measure import summary
from research.experiments.setting import PLAIN, SETS, ExperimentSettings, timed, workload
from research.experiments.store import Row

TITLE = "Table 1 of Koo et al. (2010): accuracy, certificates, speed"
SIZES = ("sentences", "iterations")


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit; English also has models trained without a margin."""
    plain = [(language, parts + PLAIN) for language in setting.among("english") for parts in SETS[1:]]
    return [(language, parts) for language in setting.languages for parts in SETS] + plain


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Decode the test file with the paper's step sizes and with our own."""
    work = workload(setting, language, parts)
    rows = []
    for rule, options in (("paper", work.paper), ("ours", work.options)):
        dual_decomposition(work.problems[0].parts, work.problems[0].scores, options)  # compile first
        decoded, spent = timed(lambda o=options: [dual_decomposition(p.parts, p.scores, o) for p in work.problems])
        rows.append({"language": language, "parts": parts, "rule": rule} | summary(work.problems, decoded, spent))
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return two tables: the paper's setting, and our own decoding."""
    lines, own = [], []
    for language in languages(rows):
        theirs = papers["rows"].get(language, {})
        arc, sibling, both = (pick(rows, language=language, parts=parts, rule="paper")[0] for parts in SETS)
        cells = [beside(theirs.get(name), percent(row["uas"])) for name, row in _named(arc, sibling, both)]
        cells += [beside(theirs.get(n), percent(row["agreed"])) for n, row in (("CertS", sibling), ("CertG", both))]
        cells += [beside(theirs.get(n), seconds(row["seconds"])) for n, row in (("TimeS", sibling), ("TimeG", both))]
        lines.append([f"{language.title()} ({theirs.get('row', 'not in the paper')})", arc["sentences"], *cells])
    for row in shown(rows):
        if str(row["parts"]).startswith("grandparent"):
            margin = "without" if str(row["parts"]).endswith(PLAIN) else "with"
            name = f"{str(row['language']).title()} {NAMES[str(row['parts']).removesuffix(PLAIN)]}"
            figures = [percent(row["uas"]), percent(row["agreed"]), f"{row['iterations']:.1f}", seconds(row["seconds"])]
            own.append([name, margin, {"paper": "the paper's", "ours": "Polyak's, K = 250"}[row["rule"]], *figures])
    header = ["paper's row", "our sentences", "MST", "Sib", "G+S", "CertS", "CertG", "TimeS", "TimeG"]
    return [
        "Each cell: the paper / **ours**.",
        table(header, lines),
        "The same models decoded with the paper's step sizes and with our own; English also trained without a margin:",
        table(["", "margin", "step sizes", "UAS", "certificates", "iterations", "seconds per sentence"], own),
    ]


def _named(arc: Row, sibling: Row, both: Row) -> list[tuple[str, Row]]:
    return [("MST", arc), ("Sib", sibling), ("G+S", both)]
