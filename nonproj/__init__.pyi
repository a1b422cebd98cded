"""The public names with their types; `__init__.py` imports each on first use."""

from nonproj.components.base import RunOptions as RunOptions
from nonproj.components.trainer import train as train
from nonproj.confidence.classifier import Confidence as Confidence
from nonproj.dual.arrays import DecodedScores as DecodedScores
from nonproj.dual.arrays import decode_scores as decode_scores
from nonproj.errors import ConfigError as ConfigError
from nonproj.errors import DataError as DataError
from nonproj.errors import FileError as FileError
from nonproj.errors import ModelError as ModelError
from nonproj.errors import NonprojError as NonprojError
from nonproj.evaluation.scores import Evaluation as Evaluation
from nonproj.integrations.estimator import DependencyParser as DependencyParser
from nonproj.integrations.estimator import las_scorer as las_scorer
from nonproj.io.conll import read as read
from nonproj.io.conll import write as write
from nonproj.io.tables import read_frame as read_frame
from nonproj.learning.corpus import Auxiliary as Auxiliary
from nonproj.model.model import Model as Model
from nonproj.nlp.document import Document as Document
from nonproj.nlp.document import ParsedSentence as ParsedSentence
from nonproj.nlp.document import Word as Word
from nonproj.nlp.text_parser import TextParser as TextParser
from nonproj.nlp.text_parser import load as load
from nonproj.options.config import Config as Config
from nonproj.pipeline.parser import Parser as Parser
from nonproj.pipeline.parses import Parse as Parse
from nonproj.trees.sampling import sample_trees as sample_trees
from nonproj.types import Decoded as Decoded
from nonproj.types import Sentence as Sentence

__version__: str
__all__: list[str]
