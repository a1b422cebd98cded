"""Fine-tuning a pretrained encoder together with the layers that score parts from it.

The first epochs minimise the cross-entropy of each word's label and head, or, with ``encoder.losses: trees``, the
negative log-likelihood of each tree among all arborescences.  Then the hinge loss over the relaxed set Z is added (Koo
et al. 2010, section 6; `nonproj.learning.perceptron`), whose subgradient is predicted minus gold parts: from it the
scores of siblings and grandparents are learnt, together with those of arcs.

AdamW takes the steps, smaller ones for the encoder than for the layers behind it; both rise for the first tenth and
fall to 0 by the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nonproj.learning.encoders import checkpoint
from nonproj.learning.encoders.examples import EncoderExample, EncoderTask, examples_of
from nonproj.learning.encoders.losses import difference, head_loss, likely_arcs, tree_loss
from nonproj.learning.encoders.module import Bert, BiaffineModule, PaddedWindows, TagHead
from nonproj.linear.state import State
from nonproj.linear.streams import Stream, generator
from nonproj.options.sections import EncoderConfig
from nonproj.parts.registry import part_set
from nonproj.parts.space import part_space
from nonproj.scoring.encoders import heads as runtime
from nonproj.scoring.encoders.architecture import EncoderFolder
from nonproj.scoring.encoders.quantisation import quantise
from nonproj.scoring.encoders.scorer import LABEL_WEIGHT, TAG_WEIGHT, WEIGHT, EncoderScorer, numbers_of
from nonproj.scoring.encoders.session import Encoder
from nonproj.scoring.encoders.tags import TagLayer
from nonproj.scoring.encoders.trimming import trimmed
from nonproj.scoring.tree_labels import LABEL_MARGIN
from nonproj.types import PartSpace, Sentence

EPOCHS, CONTINUED_EPOCHS = 12, 6
"""Default epochs of an encoder, and of one from a trained model, which needs fewer."""

MIN_WORDS, MAX_EPOCHS, MAX_WORDS = 20_000, 24, 1_250_000
"""By default, a small treebank is trained for more epochs, up to ``MIN_WORDS`` words in all and ``MAX_EPOCHS``; a large
one for fewer, up to ``MAX_WORDS`` words in all."""

BATCH = 200
"""Minimum number of words of a batch."""

LAYER_RATE, DROPOUT = 2e-3, 0.33
"""Maximum learning rate and dropout rate of the layers behind the encoder, as in Dozat and Manning (2017)."""

MARGIN, STRUCTURES_WEIGHT = 1.0, 0.5
"""Margin of the hinge loss for each wrong arc, and the weight of this loss relative to the others."""

STRUCTURES = "-structures"
"""Suffix of those values of ``encoder.losses`` that include the hinge loss of whole structures."""

PIECES = 30_000
"""Maximum number of word pieces that the model keeps: all that English has in MiniLM, an eighth of those of e5-small,
whose other languages the treebank does not need (``research/history.md``)."""

UNKNOWN = 0.2
"""Share of words with an unknown piece that triggers a warning: with e5-small it is 94 % in Coptic, whose model is
better without the encoder, and at most 2.3 % in 25 other treebanks."""

ENCODER_DROPOUT = 0.1
"""Dropout rate of the encoder itself, as in its pretraining."""

STRUCTURED_FROM = 0.3
"""Share of the steps after which the hinge loss is added."""

RISING = 0.1
"""Share of the steps in which learning rates rise."""

LONGEST_NORM = 5.0
"""Maximum norm of a gradient; longer ones are scaled down."""

log = logging.getLogger("nonproj")


def fine_tune(
    folder: EncoderFolder,
    sentences: Sequence[Sentence],
    task: EncoderTask,
    progress: Callable[..., Any],
    unfinished: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    name: str = "encoder",
) -> EncoderScorer:
    """Return an encoder that has learnt from the sentences of a treebank, with the layers behind it.

    Parameters
    ----------
    folder : EncoderFolder
    sentences : sequence of Sentence
        With gold heads and labels, of some words at least.  Sentences longer than the encoder's longest input are left
        out.
    task : EncoderTask
    progress : callable
        ``progress(iterable, description)`` wraps the long loops.
    unfinished : State, optional
        State of an interrupted run, which is continued: see `checkpoint`.
    save : callable
        Keeps the state after each epoch.
    name : str
        Its name in the log and in progress bars.
    """
    config = task.config
    options = config.encoder
    encoder = trimmed(folder, [sentence.forms for sentence in sentences], PIECES)
    if (share := encoder.pieces.unknown_share([sentence.forms for sentence in sentences])) > UNKNOWN:
        text = (
            "the encoder does not know the characters of %.0f %% of the words: a model without it may be more accurate"
        )
        log.warning(text, 100 * share)
    examples = list(examples_of(encoder, sentences, task))
    if len(examples) < len(sentences):
        log.warning("the encoder does not learn from %d long sentences", len(sentences) - len(examples))
    bert = Bert(encoder.architecture, folder.arrays | {"words": encoder.arrays["words"]}, ENCODER_DROPOUT)
    epochs = epochs_of(options, sentences, bool(task.layers.heads))
    learner = EncoderLearner(bert, task, epochs)
    done = learner.restore(*unfinished) if unfinished else 0
    for epoch in range(done, epochs):
        losses = learner.epoch(examples, epoch, lambda items, epoch=epoch: progress(items, f"{name} {epoch + 1}"))
        text = ", ".join(f"{each} {loss:.4f}" for each, loss in losses.items())
        log.info("%s, epoch %d: losses a word: %s", name, epoch + 1, text)
        save(learner.state(epoch + 1))
    arrays = bert.arrays()
    arrays = quantise(arrays) if options.bits == 8 else arrays
    scales = WEIGHT * config.training.margin, LABEL_WEIGHT * LABEL_MARGIN
    layers = runtime.BiaffineLayers(learner.arrays_of(learner.heads))
    tags = TagLayer(learner.arrays_of(learner.tags), TAG_WEIGHT) if learner.tags is not None else None
    learnt = np.union1d(task.layers.learnt, numbers_of(sentence.forms for sentence in sentences))
    return EncoderScorer(Encoder(encoder.architecture, arrays, encoder.tokenizer), layers, *scales, tags, learnt)


def epochs_of(options: EncoderConfig, sentences: Sequence[Sentence], continued: bool) -> int:
    """Return the number of epochs of an encoder, or of one from a trained model (``continued``).

    Examples
    --------
    >>> treebanks = [Sentence([["1", "x"]] * words) for words in (500, 10_000, 300_000)]
    >>> [epochs_of(EncoderConfig(), [words], continued) for continued in (False, True) for words in treebanks]
    [24, 12, 4, 24, 6, 4]
    """
    if isinstance(options.epochs, int):
        return options.epochs
    words, usual = sum(map(len, sentences)), CONTINUED_EPOCHS if continued else EPOCHS
    return max(1, min(max(usual, min(MAX_EPOCHS, MIN_WORDS // words)), MAX_WORDS // words))


class EncoderLearner:
    """An encoder and its layers in training.

    Parameters
    ----------
    bert : Bert
    task : EncoderTask
    epochs : int
        Number of all epochs, over which the learning rates fall.
    """

    def __init__(self, bert: Bert, task: EncoderTask, epochs: int = EPOCHS):
        options = task.config.encoder
        torch.manual_seed(task.config.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.half = has_bfloat16(self.device)
        self.epochs, self.options, self.single_root, self.seed = epochs, options, task.single_root, task.config.seed
        self.types = part_set(task.config.parts) if options.losses.endswith(STRUCTURES) else part_set("arc")
        hidden = bert.architecture.hidden
        self.bert = bert.to(self.device)
        self.heads = BiaffineModule(hidden, len(task.labels), DROPOUT).to(self.device)
        self.tags = TagHead(hidden, task.tags, DROPOUT).to(self.device) if task.tags else None
        if task.layers.heads:
            fill(self.heads, task.layers.for_labels(task.labels))
        if self.tags is not None and task.tags and task.layers.tags:
            fill(self.tags, task.layers.for_tags(task.tags))
        self.rates = options.learning_rate, LAYER_RATE
        layers = [*self.heads.parameters(), *(self.tags.parameters() if self.tags is not None else ())]
        self.parameters = [[p for p in bert.parameters() if p.requires_grad], layers]
        groups: list[dict[str, Any]] = [{"params": each} for each in self.parameters]
        self.optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
        self.step, self.steps, self.given = 0, 1, 1.0

    def state(self, epochs: int) -> State:
        """Return the state after some epochs."""
        return checkpoint.state_of(sum(self.parameters, []), self.optimiser, epochs, self.step)

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> int:
        """Continue from a state; return the number of epochs done.  Raise `ModelError` if it is of another learner."""
        epochs, self.step = checkpoint.restore(sum(self.parameters, []), self.optimiser, values, arrays)
        return epochs

    def batches(self, examples: Sequence[EncoderExample], epoch: int) -> list[list[EncoderExample]]:
        """Return batches of sentences of similar length, in random order."""
        rng = generator(self.seed, Stream.ENCODER, epoch)
        length = np.array([len(example.numbers) for example in examples]) * np.exp(rng.normal(0.0, 0.1, len(examples)))
        batches: list[list[EncoderExample]] = [[]]
        words = 0
        for i in np.argsort(length, kind="stable").tolist():
            if words >= BATCH:
                batches.append([])
                words = 0
            batches[-1].append(examples[i])
            words += len(examples[i].heads) - 1
        return [batches[i] for i in rng.permutation(len(batches)).tolist()]

    def epoch(self, examples: Sequence[EncoderExample], epoch: int, progress: Callable[..., Any]) -> dict[str, float]:
        """Train for an epoch; return the mean losses of a word."""
        for module in (self.bert, self.heads, self.tags):
            if module is not None:
                module.train()
        totals: dict[str, float] = {}
        batches = self.batches(examples, epoch)
        self.steps = max(self.step + 1, len(batches) * self.epochs)
        self.given = float((np.concatenate([example.heads[1:] for example in examples]) >= 0).mean())
        for batch in progress(batches):
            losses = self.losses(batch)
            self.follow(torch.stack(list(losses.values())).sum())
            for name, value in losses.items():
                totals[name] = totals.get(name, 0.0) + float(value.detach()) / len(batches)
        return totals

    def follow(self, loss: Tensor) -> None:
        """Make an AdamW step down the gradient of a loss."""
        done = (self.step + 1) / self.steps
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * min(done / RISING, max(0.0, 1.0 - done) / (1.0 - RISING))
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_([p for group in self.parameters for p in group], LONGEST_NORM)
        self.optimiser.step()
        self.step += 1

    def vectors(self, batch: Sequence[EncoderExample]) -> tuple[Tensor, list[int]]:
        """Return the vectors of all nodes of a batch, and the first node of each sentence, followed by the end."""
        first = np.cumsum([0, *(len(example.heads) for example in batch)]).tolist()
        size = max(len(example.numbers) for example in batch)
        numbers, words = np.zeros((len(batch), size), np.int64), np.full((len(batch), size), -1, np.int64)
        mask = np.zeros((len(batch), size), np.bool_)
        for i, example in enumerate(batch):
            own = len(example.numbers)
            numbers[i, :own], mask[i, :own] = example.numbers, True
            words[i, :own] = np.where(example.words >= 0, example.words + first[i], -1)
        padded = PaddedWindows(*(torch.from_numpy(each).to(self.device) for each in (numbers, mask, words)))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            found = self.bert(padded, first[-1])
        return functional.dropout(found.float(), DROPOUT, self.bert.training), first

    def losses(self, batch: Sequence[EncoderExample]) -> dict[str, Tensor]:
        """Return the losses of a batch: that of tags per word, the others per given head.

        The number of given heads is estimated from their share in all examples, so that every given head has the same
        weight.
        """
        vectors, first = self.vectors(batch)
        layers, n_words = self.heads, first[-1] - len(batch)
        head, modifier = layers.hidden("arc_head", vectors), layers.hidden("arc_modifier", vectors)
        n_given = n_words * self.given
        losses = {"labels": self.loss_of_labels(batch, first, vectors) / n_given}
        if self.tags is not None:
            words = self.integers(np.concatenate([np.arange(b + 1, e) for b, e in zip(first, first[1:], strict=False)]))
            gold = self.integers(np.concatenate([example.tags for example in batch]))
            of_tags = functional.cross_entropy(self.tags(vectors[words]), gold, ignore_index=-1, reduction="sum")
            losses["tags"] = of_tags / n_words
        arcs, structures = [], []
        structured = self.step >= STRUCTURED_FROM * self.steps and len(self.types) > 1
        names = [each.name for each in self.types if structured and each.name in runtime.TRILINEAR]
        factors = {name: layers.factors(name, vectors) for name in names}
        for example, begin, end in zip(batch, first, first[1:], strict=False):
            scores = layers.arcs(head[begin:end], modifier[begin:end]).fill_diagonal_(-torch.inf)
            if self.options.losses.startswith("trees"):
                arcs.append(tree_loss(scores, example.heads, self.single_root, example.allowed))
            else:
                arcs.append(head_loss(scores, example.heads, example.allowed))
            if structured:
                own = {name: of_type[:, begin:end] for name, of_type in factors.items()}
                structures.append(self.hinge(example, scores, own))
        losses["heads"] = torch.stack(arcs).sum() / n_given
        if structured:
            losses["structures"] = STRUCTURES_WEIGHT * torch.stack(structures).sum() / n_given
        return losses

    def loss_of_labels(self, batch: Sequence[EncoderExample], first: Sequence[int], vectors: Tensor) -> Tensor:
        """Return the cross-entropy of the labels of the gold arcs, summed over those that are given."""
        layers, pairs = self.heads, list(zip(batch, first, strict=False))
        given = np.concatenate([(example.heads[1:] >= 0) & (example.labels >= 0) for example in batch])
        heads = np.concatenate([example.heads[1:] + begin for example, begin in pairs])
        words = np.concatenate([np.arange(1, len(example.heads)) + begin for example, begin in pairs])
        gold = np.concatenate([example.labels for example in batch])
        head, word, label = (self.integers(each[given]) for each in (heads, words, gold))
        of_head, of_modifier = layers.hidden("label_head", vectors), layers.hidden("label_modifier", vectors)
        return functional.cross_entropy(layers.labels(of_head[head], of_modifier[word]), label, reduction="sum")

    def hinge(self, example: EncoderExample, of_arcs: Tensor, factors: Mapping[str, Tensor]) -> Tensor:
        """Return the hinge loss of a sentence over the relaxed set Z, up to a constant."""
        arcs = likely_arcs(of_arcs.detach().cpu().numpy(), example.heads, self.single_root, example.allowed)
        parts = part_space(arcs, self.types)
        scores = self.scores(parts, of_arcs, factors)
        delta = difference(parts, scores.detach().cpu().numpy(), example.heads, MARGIN, example.allowed)
        return (scores * torch.from_numpy(delta).to(self.device)).sum()

    def scores(self, parts: PartSpace, of_arcs: Tensor, factors: Mapping[str, Tensor]) -> Tensor:
        """Return the scores of the parts of a sentence, [P], given those of all arcs and the factors of each type."""
        space = parts.arcs
        scores = [of_arcs[self.integers(space.head), self.integers(space.modifier)]]
        for part_type, start in zip(parts.types[1:], parts.starts[1:], strict=True):
            nodes = self.integers(part_type.rows(space, start).nodes)
            if part_type.name in factors:
                scores.append(self.heads.trilinear(part_type.name, factors[part_type.name], nodes))
            else:
                scores.append(torch.zeros(len(nodes), device=self.device))
        return torch.cat(scores)

    def integers(self, array: np.ndarray) -> Tensor:
        """Return integers as a tensor for indexing, int64."""
        return torch.from_numpy(array.astype(np.int64)).to(self.device)

    def arrays_of(self, layers: torch.nn.Module) -> dict[str, np.ndarray]:
        """Return the parameters of some layers by name."""
        return {name: value.detach().cpu().numpy().copy() for name, value in layers.named_parameters()}


def fill(layers: torch.nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the parameters of layers from arrays by name."""
    with torch.no_grad():
        for name, parameter in layers.named_parameters():
            parameter.copy_(torch.from_numpy(np.array(arrays[name])))


def has_bfloat16(device: torch.device) -> bool:
    """Return whether a device multiplies matrices faster in bfloat16: a CPU needs instructions for that."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    known: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # since PyTorch 2.11
    return bool(known.get("amx_bf16") or known.get("avx512_bf16"))
