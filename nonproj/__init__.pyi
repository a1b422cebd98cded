"""The public names with their types; `__init__.py` imports each on first use."""

from nonproj.array_decoding import DecodedScores as DecodedScores
from nonproj.array_decoding import decode_scores as decode_scores
from nonproj.confidence.classifier import Confidence as Confidence
from nonproj.document import Document as Document
from nonproj.document import ParsedSentence as ParsedSentence
from nonproj.document import Word as Word
from nonproj.errors import ConfigError as ConfigError
from nonproj.errors import DataError as DataError
from nonproj.errors import FileError as FileError
from nonproj.errors import ModelError as ModelError
from nonproj.errors import NonprojError as NonprojError
from nonproj.estimator import DependencyParser as DependencyParser
from nonproj.estimator import las_scorer as las_scorer
from nonproj.evaluation.scores import Evaluation as Evaluation
from nonproj.io.conll import read as read
from nonproj.io.conll import write as write
from nonproj.learning.trainer import train as train
from nonproj.model import Model as Model
from nonproj.nlp import TextParser as TextParser
from nonproj.nlp import load as load
from nonproj.options.config import Config as Config
from nonproj.parses import Parse as Parse
from nonproj.pictures.content import Picture as Picture
from nonproj.pipeline import Parser as Parser
from nonproj.trees.sampling import sample_trees as sample_trees
from nonproj.types import Decoded as Decoded
from nonproj.types import Sentence as Sentence

__version__: str
__all__: list[str]
