"""A neural scorer and exact trees: a biaffine parser in torch, trained and decoded with `nonproj.decode_scores`.

python examples/biaffine.py train.conllu test.conllu --epochs 2

Needs torch (the extra torch).  docs/own-scores.md explains it.  The scorer is that of Dozat and Manning
(2017), smaller: embeddings of words and tags, a bidirectional LSTM, and a biaffine form for each arc.  It is trained by
the likelihood of the gold tree among all trees with a single root (Koo et al. 2007).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import nonproj
from nonproj import NonprojError, Sentence

PAD, UNKNOWN, ROOT = 0, 1, 2


class Vocabulary:
    """Numbers of the strings of a column that occur at least ``minimum`` times."""

    def __init__(self, columns: Sequence[Sequence[str]], minimum: int) -> None:
        counts = Counter(value for column in columns for value in column)
        known = sorted(value for value, count in counts.items() if count >= minimum)
        self.numbers = {value: number for number, value in enumerate(known, ROOT + 1)}

    def __len__(self) -> int:
        return len(self.numbers) + ROOT + 1

    def encode(self, column: Sequence[str]) -> list[int]:
        """Return the numbers of a sentence's strings, that of the root first."""
        return [ROOT, *(self.numbers.get(value, UNKNOWN) for value in column)]


def words_of(sentence: Sentence) -> list[str]:
    """Return the words in lower case."""
    return [form.lower() for form in sentence.forms]


def tags_of(sentence: Sentence) -> list[str]:
    """Return the coarse tags (UPOS)."""
    return [row[3] for row in sentence.rows]


class Batch(NamedTuple):
    """``B`` sentences, padded to ``N`` nodes: words, tags and heads are int64[B, N], lengths int64[B]."""

    words: Tensor
    tags: Tensor
    heads: Tensor
    lengths: Tensor


def pad(columns: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of different lengths as one tensor, int64[B, N]."""
    return nn.utils.rnn.pad_sequence([torch.tensor(column) for column in columns], batch_first=True, padding_value=PAD)


def make_batches(sentences: Sequence[Sentence], words: Vocabulary, tags: Vocabulary, limit: int = 500) -> list[Batch]:
    """Return batches of sentences of similar lengths, each of at most ``limit`` nodes."""
    groups: list[list[Sentence]] = []
    for sentence in sorted(sentences, key=len):
        if not groups or (len(groups[-1]) + 1) * (len(sentence) + 1) > limit:
            groups.append([])
        groups[-1].append(sentence)
    found = []
    for own in groups:
        columns = ([words.encode(words_of(s)) for s in own], [tags.encode(tags_of(s)) for s in own])
        heads = pad([[0, *s.heads.tolist()] for s in own])
        found.append(Batch(*map(pad, columns), heads, torch.tensor([len(s) for s in own])))
    return found


class Biaffine(nn.Module):
    """Scores of all arcs from the words and tags of a sentence."""

    def __init__(self, n_words: int, n_tags: int, width: int = 200) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, 100, padding_idx=PAD)
        self.tags = nn.Embedding(n_tags, 32, padding_idx=PAD)
        self.lstm = nn.LSTM(132, width, batch_first=True, bidirectional=True)
        self.as_head = nn.Sequential(nn.Linear(2 * width, width), nn.LeakyReLU(0.1), nn.Dropout(0.3))
        self.as_modifier = nn.Sequential(nn.Linear(2 * width, width), nn.LeakyReLU(0.1), nn.Dropout(0.3))
        self.weights = nn.Parameter(torch.zeros(width, width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.dropout = nn.Dropout(0.3)

    def forward(self, batch: Batch) -> Tensor:
        """Return the scores of all arcs, ``[b, h, m]`` of the arc from ``h`` to ``m``: float32[B, N, N]."""
        embedded = self.dropout(torch.cat([self.words(batch.words), self.tags(batch.tags)], dim=-1))
        packed = pack_padded_sequence(embedded, batch.lengths + 1, batch_first=True, enforce_sorted=False)
        states = self.dropout(pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0])
        heads, modifiers = self.as_head(states), self.as_modifier(states)
        return heads @ self.weights @ modifiers.mT + (heads @ self.bias)[:, :, None]


def loss(scores: Tensor, batch: Batch) -> Tensor:
    """Return a surrogate loss, whose gradient is that of the negative log-likelihood of the gold trees, per word.

    The gradient of ``log Z`` is the marginals, which `nonproj.decode_scores` computes exactly.  That of a tree's score
    is 1 for its arcs.  So the difference of the two, times the scores, has the right
    gradient; its value has no meaning.
    """
    lengths = batch.lengths.numpy()
    marginals = nonproj.decode_scores(scores.detach(), lengths=lengths, marginals=True).marginals
    assert marginals is not None
    gradient = torch.from_numpy(marginals).to(scores.dtype)
    sentence, modifier = words_in(batch)
    gradient[sentence, batch.heads[sentence, modifier], modifier] -= 1
    return (scores * gradient).sum() / len(sentence)


def words_in(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return sentence and position of each word, without padding."""
    positions = torch.arange(batch.words.shape[1])
    sentence, modifier = torch.nonzero((positions > 0) & (positions <= batch.lengths[:, None]), as_tuple=True)
    return sentence, modifier


class Counts(NamedTuple):
    """Results of two ways to choose heads: words, right heads of each, sentences, and trees of the first."""

    words: int
    greedy: int
    exact: int
    sentences: int
    trees: int


def is_tree(heads: np.ndarray) -> bool:
    """Return whether heads are a tree with a single root; ``heads[0]`` does not matter.

    >>> is_tree(np.array([-1, 2, 0])), is_tree(np.array([-1, 2, 1])), is_tree(np.array([-1, 0, 0]))
    (True, False, False)
    """
    reached = heads[1:]
    for _ in range(len(heads)):
        reached = np.where(reached > 0, heads[reached], 0)
    return not reached.any() and int((heads[1:] == 0).sum()) == 1


def evaluate(scored: Iterator[tuple[np.ndarray, Batch]]) -> Counts:
    """Compare the best head of each word, chosen alone, with the best tree with a single root."""
    total = np.zeros(len(Counts._fields), int)
    for scores, batch in scored:
        lengths, gold = batch.lengths.numpy(), batch.heads.numpy()
        exact = nonproj.decode_scores(scores, lengths=lengths).heads
        for b, n in enumerate(lengths.tolist()):
            own = scores[b, : n + 1, : n + 1].copy()
            np.fill_diagonal(own, -np.inf)
            greedy = own.argmax(axis=0)
            right = [int((heads[:n] == gold[b, 1 : n + 1]).sum()) for heads in (greedy[1:], exact[b])]
            total += [n, *right, 1, is_tree(greedy)]
    return Counts(*total.tolist())


def score_all(model: Biaffine, batches: Sequence[Batch]) -> Iterator[tuple[np.ndarray, Batch]]:
    """Yield each batch with its scores, which share their memory with the tensor."""
    model.eval()
    for batch in batches:
        with torch.no_grad():
            yield model(batch).numpy(), batch


def train(model: Biaffine, batches: Sequence[Batch], epochs: int) -> Iterator[float]:
    """Train and yield the seconds of each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.9))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, epochs * len(batches))
    for _ in range(epochs):
        begin = time.perf_counter()
        model.train()
        for number in torch.randperm(len(batches)).tolist():
            batch = batches[number]
            optimizer.zero_grad()
            loss(model(batch), batch).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
        yield time.perf_counter() - begin


def main() -> int:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("-n", type=int, help="sentences to train on (default: all)")
    arguments.add_argument("--epochs", type=int, default=2, help="passes over the training data (default: 2)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--threads", type=int, default=1, help="threads of torch (default: 1)")
    options = arguments.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    try:
        sentences = list(islice(nonproj.read(options.train, require_heads=True), options.n))
        test = list(nonproj.read(options.test, require_heads=True))
    except NonprojError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    words, tags = Vocabulary(list(map(words_of, sentences)), 2), Vocabulary(list(map(tags_of, sentences)), 1)
    batches, held_out = make_batches(sentences, words, tags), make_batches(test, words, tags)
    model = Biaffine(len(words), len(tags))
    for epoch, seconds in enumerate(train(model, batches, options.epochs), 1):
        counts = evaluate(score_all(model, held_out))
        greedy, exact = (f"{100 * right / counts.words:.2f}" for right in (counts.greedy, counts.exact))
        trees = f"{counts.trees} of {counts.sentences} are trees with a single root"
        text = f"epoch {epoch}, {seconds:.0f} s: UAS of the best heads {greedy} ({trees}), of the best trees {exact}"
        sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
