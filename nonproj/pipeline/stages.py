"""The stages of parsing: functions from a `Batch` to a `Batch` with more fields; `STAGES` lists them in their order.

For another parser, replace a stage, or add one of your own before or after it: see `Parser.with_stages`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

import numpy as np

from nonproj.automata.compiled import is_third_order
from nonproj.confidence.evidence import ConfidenceInput, Evidence, gather
from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.decoding import decode_trusted, with_costs
from nonproj.dual.domain import with_scale
from nonproj.dual.problem import PartsProblem
from nonproj.dual.proofs import ScoreSource, digest_of_words, proof_of
from nonproj.dual.search import SearchResult, with_known
from nonproj.errors import ConfigError, DataError
from nonproj.io.constraints import Constraints, read_constraints
from nonproj.parts.arc import Arc
from nonproj.parts.arcs import arc_space_from_mask, check_count, full_arc_space, with_arcs
from nonproj.parts.space import part_space
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parses import Parse
from nonproj.scoring.graphs import GraphModel
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.joined import join, join_rows, join_words
from nonproj.scoring.scorer import score_pairs
from nonproj.scoring.vocabulary import UNKNOWN
from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals_trusted
from nonproj.trees.projective import is_projective
from nonproj.trees.pruning import prune_trusted
from nonproj.types import ArcSpace, Float64s, Int64s, Sentence

FULL_WORDS, FULL_WORDS_THIRD = 160, 50
"""Maximum sentence length for parsing without pruning: the number of parts is 2 n^3, at this length 8 million, or with
third-order parts 5 n^4 / 12, at this length 3 million."""

FULL_EFFORT = 100
"""Factor on the search limit for decoding over all arcs."""

_TREE = attrgetter("tree")

Stage: TypeAlias = Callable[[Batch], Batch]


def tag(batch: Batch) -> Batch:
    """Predict the tags, features and lemmas that are asked for, then apply user components."""
    loaded, request, sentences = batch.loaded, batch.request, list(batch.sentences)
    if request.tags == "none":
        return batch
    if (analyzer := loaded.analyzer) is not None:
        encoded = loaded.encoded_tags if request.encoder else None
        analyzer = analyzer.using(request.lexicon.words_of) if request.lexicon else analyzer
        sentences = analyzer.apply(sentences, request.tags == "all", encoded)
    for component in loaded.components:
        sentences = component.apply(sentences)
    return batch._replace(sentences=sentences)


def encode(batch: Batch) -> Batch:
    """Turn strings into integers, and add the scores of the pretrained encoder, if there is one."""
    tokens = list(map(batch.loaded.encoder.encode, batch.sentences))
    if batch.request.encoder and (pretrained := batch.loaded.pretrained) is not None:
        tokens = pretrained.add_to(tokens, [sentence.forms for sentence in batch.sentences])
    return batch._replace(tokens=tokens, joined=join(tokens))


def prune(batch: Batch) -> Batch:
    """Score all arcs under the first-order model, and choose the candidate arcs by their marginals.

    Raises
    ------
    DataError
        The constraints are malformed, or no tree satisfies them.
    """
    loaded, request, joined = batch.loaded, batch.request, batch.joined
    if joined.encoded is not None:
        first_order = [encoded.first_order() for encoded in joined.encoded]
    else:
        weights, scale = loaded.tables["pruner"]
        first_order = score_pairs(joined, hash_tokens(joined, loaded.pruner_table, len(weights)), weights, scale)
    constraints: list[Constraints | None] = [None] * len(first_order)
    if request.constraints != "none":
        constraints = [read_constraints(sentence, request.constraints) for sentence in batch.sentences]
    options, marginals, arcs = request.options, list[Float64s](), list[ArcSpace]()
    limits = request.threshold, loaded.model.config.pruner.max_heads, options.single_root, options.projective
    for sentence, scores, own in zip(batch.sentences, first_order, constraints, strict=True):
        try:
            if own is None:
                p = marginals_trusted(scores, options.single_root, strict=False)[0]
            else:
                p = constrained_marginals(scores, own.allowed, options.single_root)[0]
            candidates = prune_trusted(p, *limits)
        except ValueError as error:
            if own is None:
                raise
            raise DataError(sentence.path, sentence.line, f"no tree satisfies the constraints: {error}") from None
        arcs.append(candidates)
        marginals.append(p[candidates.head, candidates.modifier])
    return batch._replace(first_order=first_order, constraints=constraints, arcs=arcs, marginals=marginals)


def number(batch: Batch) -> Batch:
    """Number all parts over the candidate arcs."""
    spaces = list(map(part_space, batch.arcs, itertools.repeat(batch.loaded.scorer.types)))
    n_parts = sum(map(itemgetter(-1), map(attrgetter("offsets"), spaces)))
    check_count(n_parts, "parts of a batch", batch.joined.n_nodes)
    return batch._replace(spaces=spaces)


def score(batch: Batch) -> Batch:
    """Score the parts; if labels are scored with arcs, an arc's score includes its best or its required label."""
    loaded, joined = batch.loaded, batch.joined
    demanded = demanded_labels(batch) if any(batch.constraints) else {}
    scores, known = loaded.scorer.score_batch(joined, batch.spaces, *loaded.tables["parser"], demanded)
    return batch._replace(scores=scores, known=known)


def decode(batch: Batch) -> Batch:
    """Find the best trees over the candidate arcs."""
    own = batch.request
    further = map(itertools.repeat, (own.options, own.search, own.nbest, None, own.proofs))
    found = list(map(decode_trusted, batch.spaces, batch.scores, *further))
    if own.crossing and not all(map(is_projective, map(_TREE, itertools.chain.from_iterable(found)))):
        chosen = [i for i, trees in enumerate(found) if not all(map(is_projective, map(_TREE, trees)))]
        for i, crossing in zip(chosen, crossing_costs(batch, chosen), strict=False):
            found[i] = with_costs(found[i], own.options, own.search, own.nbest, crossing, own.proofs)
    return batch._replace(found=found)


def crossing_costs(batch: Batch, chosen: Sequence[int]) -> list[CrossingCosts]:
    """Return the cost of each arc of some sentences if it is crossed; an empty list if the model has no such costs.

    Where the best trees by scores alone are projective, they are the best with costs, too: costs are not negative.
    """
    loaded, known, factor = batch.loaded, batch.known, batch.request.crossing
    if known is None or loaded.crossing is None or loaded.crossing_table is None or not factor:
        return []
    arcs, joined = [batch.spaces[i].arcs for i in chosen], join([batch.tokens[i] for i in chosen])
    begin = np.cumsum([0, *(len(space.arcs.head) for space in batch.spaces)]).tolist()
    labels = [known.of_labels[begin[i] : begin[i + 1]].argmax(axis=1) for i in chosen]
    rows = join_rows([Arc().rows(own, np.empty(0, np.int64)) for own in arcs], joined)
    costs = factor * loaded.crossing.costs(joined, rows, np.concatenate(labels), loaded.crossing_table)
    parts = np.split(costs, np.cumsum([len(own.head) for own in arcs])[:-1])
    return [CrossingCosts(own.head, own.modifier, part) for own, part in zip(arcs, parts, strict=True)]


def widen(batch: Batch) -> Batch:
    """Find the best trees over all arcs, if asked for; their certificates are about the model without pruning.

    Sentences longer than `FULL_WORDS` (third order: `FULL_WORDS_THIRD`) keep their trees over the candidate arcs.
    """
    if not batch.request.full:
        return batch
    limit = FULL_WORDS_THIRD if is_third_order(batch.loaded.scorer.types) else FULL_WORDS
    arcs, found, pruned = list(batch.arcs), list(batch.found), list[SearchResult | None](batch.found)
    for i, sentence in enumerate(batch.sentences):
        if len(sentence) > limit:
            pruned[i] = None
        else:
            arcs[i], found[i] = _over_all_arcs(batch.select([i]))
    return batch._replace(arcs=arcs, found=found, pruned=pruned, known=None)


def _over_all_arcs(batch: Batch) -> tuple[ArcSpace, SearchResult]:
    """Return all arcs of a batch of one sentence, and the best trees over them."""
    request, constraints, [narrow] = batch.request, batch.constraints[0], batch.found
    arcs = arc_space_from_mask(constraints.allowed) if constraints else full_arc_space(len(batch.sentences[0]))
    search = request.search._replace(work_per_word=FULL_EFFORT * request.search.work_per_word)
    wide = decode(score(number(batch._replace(arcs=[arcs], request=replace(request, search=search)))))
    [found] = wide.found
    return arcs, with_known(found, narrow[0], with_scale(request.options, found.problem.instance.scores))


def label(batch: Batch) -> Batch:
    """Label the trees."""
    labeler, joined, labels, margins = batch.loaded.labeler, batch.joined, list[list[Int64s]](), list[Float64s]()
    demanded = demanded_labels(batch) if any(batch.constraints) else {}
    trees = list(map(attrgetter("tree"), map(itemgetter(0), batch.found)))
    for numbers, own_margins in labeler.label(joined, trees, batch.known, demanded):
        labels.append([numbers])
        margins.append(own_margins)
    if batch.request.nbest > 1:
        alone = replace(batch.request, nbest=1)
        for i, found in enumerate(batch.found):
            one = batch.select([i])._replace(request=alone)
            for other in found[1:]:
                labels[i] += label(one._replace(found=[SearchResult([other], found.problem, found.copies)])).labels[0]
    return batch._replace(labels=labels, margins=margins)


def estimate(batch: Batch) -> Batch:
    """Estimate the probabilities that heads, labels and trees are correct, if asked for and there is a classifier."""
    if not batch.request.confidence or (classifier := batch.loaded.classifier) is None:
        return batch
    own = map(evidence, itertools.repeat(batch), range(len(batch.sentences)), itertools.repeat(classifier.limit))
    return batch._replace(confidence=list(map(classifier.confidence, own)))


def evidence(batch: Batch, i: int, limit: float) -> Evidence:
    """Return the features of a labelled sentence for the confidence classifier; ``limit`` is as for `gather`."""
    request, narrow = batch.request, batch.pruned[i] if batch.pruned else None
    found, tree, marginals = narrow or batch.found[i], batch.found[i][0].tree, batch.marginals[i]
    arcs = found.problem.instance.arcs
    if narrow and np.count_nonzero(tree[arcs.modifier] == arcs.head) < len(tree) - 1:
        # A tree found by decoding over all arcs: use the candidate arcs and its own.
        arcs, alone = with_arcs(arcs, tree[1:], np.arange(1, len(tree))), replace(request, nbest=1, proofs=False)
        one = batch.select([i])._replace(arcs=[arcs], constraints=[None], request=alone)
        [found] = decode(score(number(one))).found
        p = marginals_trusted(batch.first_order[i], request.options.single_root, strict=False)[0]
        marginals = p[arcs.head, arcs.modifier]
    case = ConfidenceInput(
        batch.tokens[i],
        found.problem,
        found.copies,
        marginals,
        batch.found[i][0],
        batch.labels[i][0],
        batch.margins[i],
        batch.sentences[i].tag_margins,
        batch.sentences[i].boundary_margins,
    )
    return gather(case, batch.loaded.tag_column, request.options, limit)


def prove(batch: Batch) -> Batch:
    """Add the proofs of the trees, if asked for."""
    if not batch.request.proofs:
        return batch
    return batch._replace(proofs=[_proof(batch, i) for i in range(len(batch.sentences))])


def _proof(batch: Batch, i: int) -> dict[str, Any]:
    """Return the proof of the best trees of a sentence, over the candidate arcs or over all that are allowed."""
    request, sentence, found, model = batch.request, batch.sentences[i], batch.found[i], batch.loaded.model
    full, problem = bool(batch.pruned and batch.pruned[i]), found.problem
    outside = "forbidden" if full else "pruned" if request.constraints == "none" else "pruned or forbidden"
    if not isinstance(problem, PartsProblem) or problem.own is None:
        raise ConfigError("--proofs", f"there are none for the parts {', '.join(model.config.parts)}")
    options = with_scale(request.options, problem.instance.scores)
    given = {"tags": request.tags, "constraints": request.constraints, "threshold": request.threshold}
    source = ScoreSource(f"{sentence.path}:{sentence.line}", digest_of_words(sentence.rows), model.sha256, given)
    return proof_of(found, problem.parts, problem.own.part_scores, options, found.crossing, source, outside)


def collect(batch: Batch) -> Batch:
    """Assemble the parse of each sentence."""
    column, projective, parses = batch.loaded.tag_column, batch.request.options.projective, list[Parse]()
    for i, (found, arcs) in enumerate(zip(batch.found, batch.arcs, strict=True)):
        narrow = batch.pruned[i] if batch.pruned else None
        pruned, constraints, trees = narrow[0] if narrow else None, batch.constraints[i], list[Parse]()
        costs = found.crossing if batch.request.crossing else None
        for tree, numbers in zip(found, batch.labels[i], strict=True):
            names: list[str] = batch.loaded.labels[numbers].tolist()
            for word, name in constraints.labels.items() if constraints else ():
                names[word - 1] = name
            paid = None if projective else costs.of(tree.tree) if costs else 0.0
            trees.append(Parse(tree, names, arcs, pruned, paid=paid))
        unknown = () if column is None else batch.tokens[i].atoms[:, column] == UNKNOWN
        parses.append(
            trees[0]._replace(
                unknown_tags=int(np.count_nonzero(unknown)),
                others=tuple(trees[1:]) if batch.request.nbest > 1 else None,
                confidence=batch.confidence[i] if batch.confidence else None,
                proof=batch.proofs[i] if batch.proofs else None,
            )
        )
    if batch.request.graphs and batch.loaded.graphs is not None:
        parses = list(map(_with_graph, itertools.repeat(batch.loaded.graphs), batch.sentences, parses))
    return batch._replace(parses=parses)


def _with_graph(model: GraphModel, sentence: Sentence, parse: Parse) -> Parse:
    """Return a parse with the enhanced graph of its tree, and those of other trees."""
    others = None if parse.others is None else tuple(_with_graph(model, sentence, other) for other in parse.others)
    return parse._replace(graph=model.graph(sentence, parse.decoded.heads.tolist(), parse.labels), others=others)


def demanded_labels(batch: Batch) -> dict[int, int]:
    """Return the numbers of the labels that nodes of the joined sentences must have, if the model knows them."""
    numbers = {name: i for i, name in enumerate(batch.loaded.model.labels)}
    labels = [own.labels if own else {} for own in batch.constraints]
    known = [{word: numbers[name] for word, name in own.items() if name in numbers} for own in labels]
    return join_words(known, batch.joined)


STAGES: tuple[Stage, ...] = (tag, encode, prune, number, score, decode, widen, label, estimate, prove, collect)
"""The stages of the parser, in their order."""


def run_stages(batch: Batch, stages: Iterable[Stage]) -> Batch:
    """Return a batch after it has passed some stages."""
    for stage in stages:
        batch = stage(batch)
    return batch
