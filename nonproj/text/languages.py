"""The languages of the rules for plain text: their abbreviations, patterns and frequent words.

The languages are those of the treebanks without raw text that ``data_scripts`` fetches.  The rules are stored in the
model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from nonproj.text.characters import lowered

PATTERNS = frozenset(
    [f"{left}{mark}{right}" for mark in "'-." for left in "a1" for right in "a1"] + ["1.1", "1,1", "1:1", "1/1"]
)
"""Patterns that stay together in all languages, in the notation of `Language`."""

_MOST_FREQUENT = 200
"""The words that recognise a language are among this many words of a treebank."""

_MIN_WORDS = 1000
"""Words of a treebank in which a language can be recognised."""


class Language(NamedTuple):
    """The rules for a language.  Strings are in lower case, unless text in lower case is not meant.

    Attributes
    ----------
    code, name : str
        ISO 639-1, and in English.
    words : frozenset of str
        Frequent words.  A sentence ends between an abbreviation and one of them that is capitalised.
    tokens : frozenset of str
        Tokens with punctuation.  Where a string is several tokens, blanks separate them.
    abbreviations : frozenset of str
        Those after which no sentence ends.  A hyphen at the beginning stands for any letters: ``-nr.`` is ``kundenr.``
        and ``CVR-nr.``, too.
    before_numbers : frozenset of str
        Those that are abbreviations only before a number.
    patterns : frozenset of str
        Patterns that stay together: a character between letters (``a``) and digits (``1``), as in ``1.1``; or at the
        end of a word, as in ``a- ``.  ``1. `` is an ordinal number; it ends no sentence before a word in lower case.
        `` '1`` is a year of two digits.
    suffixes : tuple of str
        Ends of words that are tokens of their own.
    """

    code: str
    name: str
    words: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    abbreviations: frozenset[str] = frozenset()
    before_numbers: frozenset[str] = frozenset()
    patterns: frozenset[str] = PATTERNS
    suffixes: tuple[str, ...] = ()


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DANISH = Language(
    "da",
    "Danish",
    words=_set(
        "og i at det er en et til af som på de med den for der ikke han hun har var jeg fra men om vi sig så kan "
        "skal vil blev havde eller efter ved nu også hvor da når hvis hvad man sin mange disse denne dette du mod "
        "under over"
    ),
    tokens=_set(
        "a/s alm. amer. apr. aps. aug. bhk. c/o cm. d.d. d.s. d.v.s. d.y. d.æ. e.Kr. eftf. etc. f.Kr. febr. flg. "
        "fmd. forts. gns. i/s jan. km. km/t km/t. kr. kvm. m.fl. m.m. m.v. m/k m/s m/sek. mdr. mfl. mia. mill. "
        "mio. mv. o.a. o.fl. o.l. o.lign. o.m.a. o.s.v. o/m ofl. okt. osv. p.a. p.m. p.t. pct. s.u. sept. sgu' "
        "s'gu spsk. t.h. t.o.m. t.v. tilh. tkr. tsk. udg. årg. årh."
    ),
    abbreviations=_set(
        "adm. afd. anm. att. bl.a. ca. cand.jur. cand.mag. cand.phil. cand.polyt. cand.scient. Chr. Dir. dr. "
        "dr.phil. dvs. eks. ekskl. evt. f.eks. fhv. fig. Fr. frk. Fru. fx. gl. hhv. hr. hrs. iflg. ifm. indb. inkl. "
        "jf. jfr. jvf. Kbh. kgl. kl. m.a.o. m.h.t. maks. max. mht. mr. mrs. ndr. nr. -nr. pga. ph.d. phil. pr. prof. "
        "sdr. skt. sml. St. tidl. tlf. vedr. vejl. vha. vs."
    ),
    before_numbers=_set("art. bd. bl. kap. min. pkt. s. stk."),
    patterns=PATTERNS | {"1. ", "a- ", "a/a"},
)

_DUTCH = Language(
    "nl",
    "Dutch",
    words=_set(
        "de het een van en in is dat op te met voor zijn die niet aan er om ook als bij maar naar uit ze hij was "
        "wordt heeft door over nog zich dan of hun deze dit wij ik zij tot na toen waar wat wie hoe daar zo"
    ),
    tokens=_set(
        "'s 't 'n 'k 'm a.d.h.v. a.u.b. afb. apr. aug. b.v. bv. c.q. c.s. cm. d.w.z. dwz. e.a. e.d. e.v. enz. "
        "etc. excl. F.C. febr. i.d. i.h.a. i.p.v. i.v.m. jan. jl. jr. km. km/u m.a.w. m.b.t. m.b.v. m.i. m.n. "
        "mln. mld. n.a.v. N.B. n.Chr. N.V. o.a. o.i.d. o.l.v. o.m. okt. p.p. s.v.p. sept. sp.a t/m t.a.v. t.b.v. "
        "t.g.v. t.o.v. t.w.v. v.Chr. v.l.n.r. zgn."
    ),
    abbreviations=_set(
        "bijv. blz. ca. dhr. dr. drs. hfst. incl. Ir. Jhr. m.m.v. mevr. Mgr. mr. mw. nr. o.b.v. prof. resp. St. "
        "vgl. vs."
    ),
    before_numbers=_set("art. fig. p. tel."),
    patterns=PATTERNS | {"a- ", "a/a", "1% ", " '1"},
)

_BASQUE = Language(
    "eu",
    "Basque",
    words=_set(
        "eta da ez du zen izan bat egin zuen baina ere hori dira dute bere ziren dela hau duen beste behar oso "
        "zuten gero dago zion bai zer nola edo gaur orain horrek hala nire"
    ),
    tokens=_set("e.a. etab. h.d. k.a. k.o. S.A."),
    abbreviations=_set("adb. D. dk. Dr. jn. jr. ik. lib. o.g. zenb."),
    before_numbers=_set("art. or. tel. zk."),
    patterns=PATTERNS | {"1. "},
)

_ENGLISH = Language(
    "en",
    "English",
    words=_set(
        "the of to a in and that for is said on it by at as from with was be are has an have but its will he or "
        "which they this we i she his not their more about who there when after if what so then these those my "
        "you our"
    ),
    tokens=_set(
        "'s 'd 'm 'll 're 've 'n' A.D. a.m. Ala. Apr. Ariz. Ark. Aug. B.C. Bros. Calif. Co. Colo. Conn. Corp. "
        "D.C. Dec. Del. Dept. E.U. Est. etc. Feb. Fla. Ga. Ill. Inc. Ind. Jan. Jr. Kan. Ky. L.P. Ltd. M.D. Mass. "
        "Md. Mich. Minn. Miss. Mo. N.C. N.H. N.J. N.M. N.Y. Neb. Nev. Nov. o'clock Oct. Okla. Ore. p.m. Pa. Ph.D. "
        "Plc. Pty. R.I. S.C. Sept. Sr. Tenn. Tex. U.K. U.N. U.S. U.S.A. Va. Vt. W.Va. Wash. Wis. Wyo."
    )
    | {"can not", "gon na", "wan na", "got ta"},
    abbreviations=_set(
        "Adm. approx. cf. Capt. Cmdr. Col. Dr. e.g. Gen. Gov. Hon. i.e. Lt. Maj. Messrs. Mr. Mrs. Ms. Mt. Pres. "
        "Prof. Rep. Reps. Rev. Sen. Sens. Sgt. St. v. viz. vs."
    ),
    before_numbers=_set(
        "art. arts. ch. cl. fig. figs. no. nos. p. para. paras. pp. pt. reg. sched. sec. secs. vol. vols."
    ),
    patterns=PATTERNS | {"a/a", "a&a", " '1"},
    suffixes=("n't", "'s", "'re", "'ve", "'ll", "'d", "'m"),
)

LANGUAGES = {language.code: language for language in (_DANISH, _DUTCH, _BASQUE, _ENGLISH)}
"""By code."""

_CHARACTERISTIC = {
    "da": _set("og af til det ikke på efter"),
    "nl": _set("de het een van niet"),
    "eu": _set("eta da ez du zen baina"),
    "en": _set("the of and to that was"),
}
"""Words that are all frequent in one language, and in no other."""


def recognised(forms: Iterable[str]) -> Language | None:
    """Return the language of a treebank by its most frequent words, if it is one of `LANGUAGES`.

    Examples
    --------
    >>> words = "og af til det ikke på efter".split()
    >>> recognised(words * 200).name, recognised(words[:-1] * 200)
    ('Danish', None)
    """
    counts = Counter(map(lowered, forms))
    if counts.total() < _MIN_WORDS:
        return None
    frequent = {form for form, _ in counts.most_common(_MOST_FREQUENT)}
    return next((LANGUAGES[code] for code, words in _CHARACTERISTIC.items() if words <= frequent), None)
