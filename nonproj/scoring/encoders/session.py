"""A pretrained encoder: words in, one vector for each word out.

Each window is computed by itself, on one thread, so vectors do not depend on the other sentences, their order, the
number of threads or of processes: they are bit-identical on one processor.  Windows of equal length together would be
2 % faster (64 sentences of English EWT, eight bits), but their last bits would depend on each other.  Memory is bounded
too: besides the encoder and the result, a thread needs four bytes for each head and pair of pieces of a window, and for
each of its pieces four bytes for each inner dimension and about 40 for each dimension: with MiniLM 30 MB.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import DependencyError, ModelError, needs
from nonproj.kernels.threads import LoadedOnce
from nonproj.linear.state import Schema, State
from nonproj.scoring.encoders.architecture import ARRAYS, LARGEST, LARGEST_NUMBER, MATRICES, Architecture, check_sizes
from nonproj.scoring.encoders.graph import INPUT, write_graph
from nonproj.scoring.encoders.pieces import Pieces, SentencePieces
from nonproj.scoring.encoders.quantisation import (
    BYTES,
    FLOATS,
    HALVES,
    WORDS,
    check_matrices,
    embeddings_of,
    shape_of,
)
from nonproj.scoring.encoders.windows import windows
from nonproj.types import Float32s

LONGEST = 512
"""The maximum number of pieces of a window, even if an encoder has more positions: time and memory are quadratic."""

_ERRORS = 3
"""The level of ONNX Runtime's messages: errors only."""

log = logging.getLogger("nonproj")

_SIZES = {"kind": str, "epsilon": float, **dict.fromkeys(LARGEST, int)}


class _Window(NamedTuple):
    """The pieces of a window: the first special piece (the root), those of some words, and the last special piece.

    Attributes
    ----------
    ids : ndarray of int64
    sizes : ndarray of int64
        The number of pieces of the root and of each word.
    nodes : ndarray of int64
        The nodes of the window whose vectors it provides; 0 is the root.
    rows : ndarray of int64
        Their rows in the result.
    """

    ids: np.ndarray
    sizes: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray


class Encoder:
    """A pretrained encoder.

    Parameters
    ----------
    architecture : Architecture
    arrays : mapping of str to ndarray
        Arrays of `nonproj.scoring.encoders.architecture.ARRAYS` or `nonproj.scoring.encoders.quantisation.quantise`,
        and ``mix``, float32[layers + 1]: the weight of the embeddings and of each layer in the vectors.  Without it,
        the vectors are those of the last layer.
    tokenizer : str
        The text of tokenizer.json, whose pieces are the rows of ``words``.
    """

    name: ClassVar[str] = "encoder"
    schema: ClassVar[Schema] = Schema(
        _SIZES,
        {name: ("float32", " ".join(shape)) for name, shape in ARRAYS.items() if name not in MATRICES}
        | {"mix": ("float32", 1), "tokenizer": ("uint8", 1)},
        (Schema({}, FLOATS), Schema({}, BYTES), Schema({}, WORDS), Schema({}, HALVES)),
    )

    def __init__(self, architecture: Architecture, arrays: Mapping[str, np.ndarray], tokenizer: str):
        last = np.eye(architecture.layers + 1, dtype=np.float32)[-1]
        self.architecture, self.arrays = architecture, {"mix": last, **arrays}
        self.tokenizer, self.pieces = tokenizer, Pieces(tokenizer)
        if self.pieces.size > architecture.pieces:
            raise ModelError(f"the tokenizer has {self.pieces.size} pieces, the encoder {architecture.pieces}")

    @property
    def limit(self) -> int:
        """The maximum number of pieces of a window, without the special ones."""
        return min(self.architecture.positions, LONGEST) - 2

    def vectors(self, sentences: Sequence[Sequence[str]]) -> list[Float32s]:
        """Return the vectors of sentences: the first special piece's for the root, its pieces' mean for each word.

        A sentence with more pieces than `limit` is cut into windows that overlap; of a word with more pieces, those
        after the limit are ignored, with a warning in the log.

        Parameters
        ----------
        sentences : sequence of sequence of str
            The words of each.

        Returns
        -------
        list of ndarray of shape (N, D), float32
        """
        found = [np.empty((len(words) + 1, self.architecture.hidden), np.float32) for words in sentences]
        cuts = self.pieces.cut(sentences)
        if too_long := sum(int((cut.lengths > self.limit).sum()) for cut in cuts):
            log.warning("the encoder sees only the first %d pieces of %d words", self.limit, too_long)
        for vectors, cut in zip(found, cuts, strict=True):
            for window in self._windows(cut):
                vectors[window.rows] = self._run(window)
        return found

    def _windows(self, cut: SentencePieces) -> list[_Window]:
        first, last, _ = self.pieces.special
        within = np.arange(len(cut.ids)) - np.repeat(np.cumsum(cut.lengths) - cut.lengths, cut.lengths)
        ids, lengths = cut.ids[within < self.limit], np.minimum(cut.lengths, self.limit)
        offset, found = np.concatenate([[0], np.cumsum(lengths)]), []
        starts, ends, owner = windows(lengths, self.limit)
        for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            nodes = np.flatnonzero(owner[start:end] == number) + 1
            if number == 0:
                nodes = np.concatenate([[0], nodes])
            pieces = np.concatenate([[first], ids[offset[start] : offset[end]], [last]])
            sizes, rows = np.concatenate([[1], lengths[start:end]]), np.where(nodes > 0, nodes + start, 0)
            found.append(_Window(pieces, sizes, nodes, rows))
        return found

    def _run(self, window: _Window) -> Float32s:
        """Return the vectors of a window's words."""
        with np.errstate(over="ignore", invalid="ignore"):
            states = self._session[0].run(None, {INPUT: self._embeddings(window.ids)[None]})[0][0]
            sums = np.add.reduceat(states[:-1], np.cumsum(window.sizes) - window.sizes, axis=0)
            found: Float32s = (sums / window.sizes[:, None].astype(np.float32))[window.nodes]
        if not (np.abs(found) <= LARGEST_NUMBER).all():
            raise ModelError(
                f"the encoder has weights for which its vectors are not finite, or beyond {LARGEST_NUMBER:g}"
            )
        return found

    def _embeddings(self, ids: np.ndarray) -> Float32s:
        """Return the embeddings of pieces, float32[pieces, D]."""
        found: Float32s = embeddings_of(self.arrays, ids) + self.arrays["positions"][: len(ids)]
        return found

    @LoadedOnce
    def _session(self) -> tuple[Any, list[Any]]:
        """The session of ONNX Runtime, which threads may share, and the matrices whose memory it uses."""
        try:
            import onnxruntime
        except ImportError:
            raise DependencyError(needs("encoders need", "onnxruntime", "encoder")) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # see `graph`
        options.log_severity_level = _ERRORS
        graph, by_name = write_graph(self.architecture, self.arrays)
        matrices = [onnxruntime.OrtValue.ortvalue_from_numpy(matrix) for matrix in by_name.values()]
        options.add_external_initializers(list(by_name), matrices)
        try:
            session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common base class
            raise ModelError(f"ONNX Runtime {onnxruntime.__version__} cannot run the encoder: {error}") from None
        return session, matrices

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder, (self.architecture, self.arrays, self.tokenizer)

    def state(self) -> State:
        """Return JSON values and arrays from which `from_state` restores the encoder."""
        tokenizer = np.frombuffer(self.tokenizer.encode(), np.uint8)
        return dict(self.architecture._asdict()), {**self.arrays, "tokenizer": tokenizer}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Encoder:
        """Return the encoder of a `state`, whose schema has been checked.

        Raises
        ------
        ModelError
            If sizes, scales or the tokenizer are invalid.
        """
        architecture = Architecture(**values)
        check_sizes(architecture, "the encoder")
        check_matrices(arrays)
        for name in ARRAYS:
            found = shape_of(arrays, name)
            if found != architecture.shape(name):
                raise ModelError(
                    f"the encoder's array '{name}' has the shape {found}, {architecture.shape(name)} is expected"
                )
        if arrays["mix"].shape != (architecture.layers + 1,):
            raise ModelError(f"the encoder's array 'mix' is not of size {architecture.layers + 1}")
        for name, array in arrays.items():
            if array.dtype == np.float32 and name != "words" and not np.isfinite(array).all():
                raise ModelError(f"the encoder's array '{name}' has values that are not finite")
        try:
            text = arrays["tokenizer"].tobytes().decode()
        except UnicodeDecodeError:
            raise ModelError("the tokenizer of the encoder is not UTF-8") from None
        return cls(architecture, {name: each for name, each in arrays.items() if name != "tokenizer"}, text)
