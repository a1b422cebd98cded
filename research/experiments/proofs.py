"""Proofs of real sentences, checked: how many certificates they confirm, their size, and the time of the check.

Small models are trained: a proof does not depend on how good a model is, but a worse one makes decoding harder.  Writes
``proofs.csv`` and ``proofs.md``.
"""

from __future__ import annotations

import gzip
import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nonproj.dual.check_proofs import Refused, Verdict, check_line
from nonproj.dual.proofs import as_line
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from research.experiments.layout import percent, table
from research.experiments.provenance import publish, sections
from research.experiments.setting import ROOT, ExperimentSettings, model_file, timed, treebank
from research.experiments.store import Row, known, write_rows

LANGUAGES = ("danish", "basque")
SETS = ("grandparent", "third")
TRAINING = 1000
"""Number of sentences used for training."""

MOST = {("danish", "third"): 100, ("basque", "grandparent"): 200, ("basque", "third"): 100}
"""Numbers of test sentences where not all are parsed."""

CONFIG = ROOT / "research" / "experiments" / "short.yaml"

KINDS: dict[str, dict[str, object]] = {
    "default": {},
    "no costs of crossed arcs": {"crossing": 0.0},
    "projective": {"projective": True},
    "5 best": {"nbest": 5},
    "over all arcs": {"full": True},
}
"""Decoding options of each kind of proof."""

FULL_WORDS = {"grandparent": 30, "third": 12}
"""Maximum length of the sentences that are decoded over all arcs, by set of part types."""

FILE = "proofs.csv"

INTRODUCTION = f"""# Proofs, checked

`nonproj parse --proofs` writes a proof of each tree, which `nonproj-check-proofs` checks ([what a certificate
means](../../docs/certificates.md)). *Certified* are sentences all of whose trees have a certificate, *confirmed* those
among them that the checker accepts, *exactly* those where it finds that no tree is better at all, not only by rounding,
and *branched* those whose proof divides the trees into several sets. The first sentences of test files, models of
{TRAINING} sentences and two epochs (a worse model makes decoding harder); over all arcs, sentences of up to 30 words,
or 12 in third order. All but the trees without costs and the projective ones pay the costs of crossed arcs that the
models have learnt. Bytes are compressed, and seconds those of the processor. `python -m research.experiments proofs`
makes this page.
"""

log = logging.getLogger("experiments")


def measure(setting: ExperimentSettings, languages: Sequence[str], sets: Sequence[str] = SETS) -> None:
    """Measure each kind of proof on some treebanks; rows of this version are kept."""
    now, path = sections()["proofs"][2](), setting.results / FILE
    made, setting = (
        now.line(now),
        replace(setting, models=setting.results / "runs" / "proofs", config=CONFIG, training=TRAINING),
    )
    for language, parts, kind in itertools.product(languages, sets, KINDS):
        rows = [row for row in known(path) if row.get("made") == made]
        names: Row = {"language": language, "parts": parts, "kind": kind, "made": made}
        if any(names.items() <= row.items() for row in rows):
            continue
        log.info("proofs, %s, %s, %s", language, parts, kind)
        sentences = list(conll.read(treebank(setting, language)[1]))[: setting.sentences or MOST.get((language, parts))]
        if kind == "over all arcs":
            sentences = [sentence for sentence in sentences if len(sentence) <= FULL_WORDS[parts]]
        row = figures_of(Model.load(model_file(setting, language, parts)), KINDS[kind], sentences)
        write_rows(path, [*rows, names | row])
    write_page(setting)


def figures_of(model: Model, options: Mapping[str, object], sentences: Sequence[Sentence]) -> Row:
    """Parse sentences with proofs, check the proofs, and return the sums of the figures."""
    parser = Parser(model, replace(model.config.decoding, **options), proofs=True)
    row: Row = dict.fromkeys(("sentences", "certified", "confirmed", "exact", "branched", "seconds", "bytes"), 0)
    for _, parse in parser.parse_all(sentences):
        line = as_line(parse.proof)
        certified = all(each.decoded.certified for each in (parse, *(parse.others or ())))
        verdict, seconds = timed(verdict_of, line)
        confirmed = verdict is not None and verdict.status != "open"
        exact = certified and confirmed and verdict.status == "optimal"
        found = {"sentences": 1, "certified": certified, "confirmed": certified and confirmed, "seconds": seconds}
        found |= {"exact": exact, "branched": len(parse.proof["search"]) > 1}
        found["bytes"] = len(gzip.compress(line.encode()))
        row = {name: row[name] + found[name] for name in row}
    return row


def verdict_of(line: str) -> Verdict | None:
    """Return the checker's verdict on a proof; None, with a message, if it is refused."""
    try:
        return check_line(line)[1]
    except Refused as error:
        log.error("refused: %s: %s", error, line[:200])
        return None


# -- the page ----------------------------------------------------------------------------------------------------------


def write_page(setting: ExperimentSettings) -> None:
    """Write the page."""
    lines = []
    for row in known(setting.results / FILE):
        count = row["sentences"]
        shares = [count, row["certified"], f"{row['confirmed']} ({percent(row['confirmed'] / row['certified'])} %)"]
        costs = [f"{row['bytes'] / count:,.0f}", f"{1000 * row['seconds'] / count:.1f}"]
        title = f"{str(row['language']).title()}, {row['parts']}"
        lines.append([title, row["kind"], *shares, row["exact"], row["branched"], *costs])
    header = ["", "", "sentences", "certified", "confirmed", "exactly", "branched", "bytes per sentence"]
    header.append("milliseconds to check a sentence")
    publish(setting.results, "proofs", [INTRODUCTION, table(header, lines)])
