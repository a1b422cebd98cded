"""A sentence in, its translation and certificate out."""

from __future__ import annotations

from dataclasses import dataclass

from nonproj_systems.translation.decoding import EXACT, GAP, Decoded, DecodingOptions, decode
from nonproj_systems.translation.instance import score_derivation
from nonproj_systems.translation.model import LIMIT, TRANSLATIONS, TranslationModel
from nonproj_systems.translation.stack import decode_by_stacks
from nonproj_systems.translation.text import detokenize, tokenize


@dataclass
class Translation:
    """A translated sentence.

    Attributes
    ----------
    text : str
        The translation.
    tokens : list of str
        Its tokens, in lower case.
    phrases : list of (int, int, str)
        The phrases in order: first source token and the one after the last, target tokens.
    value, bound : float
        Score of the derivation, and an upper bound on the score of any derivation.
    certified : bool
        Whether the derivation is proven to be the best one of the model.
    status : str
        ``exact``, ``gap``, or ``infeasible`` if there is no translation.
    iterations : int
        Iterations of the subgradient method.
    counted : list of list of int
        The source tokens that were counted exactly in each round of tightening.
    """

    text: str
    tokens: list[str]
    phrases: list[tuple[int, int, str]]
    value: float
    bound: float
    certified: bool
    status: str
    iterations: int
    counted: list[list[int]]


def translate(
    model: TranslationModel,
    sentence: str,
    options: DecodingOptions = DecodingOptions(),  # noqa: B008
    *,
    translations: int = TRANSLATIONS,
    limit: int = LIMIT,
    beam: int = 0,
) -> Translation:
    """Translate a sentence: the best derivation of the model, with a certificate.

    Parameters
    ----------
    model : TranslationModel
    sentence : str
    options : DecodingOptions
    translations : int
        Maximum number of translations of a source phrase.
    limit : int
        Distortion limit, in words.
    beam : int
        If not 0: use the stack decoder with this beam, without certificate.

    Raises
    ------
    SizeError
        If the sentence has too many tokens.

    Examples
    --------
    >>> from nonproj_systems.translation.model import train
    >>> model = train([["ja"], ["nein", "ja"]] * 3, [["yes"], ["no", "yes"]] * 3)
    >>> found = translate(model, "Nein ja")
    >>> found.text, found.certified, found.phrases
    ('No yes', True, [(0, 2, 'no yes')])
    """
    tokens = tokenize(sentence)
    if not tokens:
        return Translation("", [], [], 0.0, 0.0, True, EXACT, 0, [])
    instance, texts = model.instance(tokens, translations, limit)
    if beam:
        derivation = decode_by_stacks(instance, beam).tolist()
        value = score_derivation(instance, derivation) if derivation else -float("inf")
        found = Decoded(derivation, value, float("inf"), False, GAP, 0)
    else:
        found = decode(instance, options)
    words = [word for option in found.derivation for word in texts[option]]
    phrases = [(int(instance.start[o]), int(instance.end[o]), " ".join(texts[o])) for o in found.derivation]
    return Translation(
        detokenize(words),
        words,
        phrases,
        found.value,
        found.bound,
        found.certified,
        found.status,
        found.iterations,
        found.counted,
    )
