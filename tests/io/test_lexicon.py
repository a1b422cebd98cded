"""Files of a user's lexicon: three formats, and lines that are wrong."""

import io

import pytest

from nonproj.errors import DataError, FileError
from nonproj.io.lexicon import LexiconEntry, LexiconWord, read_lexicon


def test_a_list_has_a_token_on_each_line():
    """Its characters are normalised; a list without any is none."""
    text = "\ufeff# tokens of ours\nC++\n\nSt.  John's\r\napprox.\n#\ncafe\u0301\u200b\n"
    words = ("C++", "Yes"), ("St. John's", "Yes"), ("approx.", "No"), ("#", "Yes"), ("café", "Yes")
    assert read_lexicon(io.StringIO("# nothing yet\n\n")) == []
    assert read_lexicon(io.StringIO(text)) == [LexiconEntry(form, (LexiconWord(form),), ends) for form, ends in words]


def test_a_table_has_columns_in_any_order():
    text = "UPOS\tForm\tends\twords\tlemma\nNOUN\tStr.\tyes\t\tStraße\nAUX _ VERB\tdunno\t_\tdo n't know\tdo not know\n"
    words = LexiconWord("do", "do", "AUX"), LexiconWord("n't", "not"), LexiconWord("know", "know", "VERB")
    assert read_lexicon(io.BytesIO(text.encode())) == [
        LexiconEntry("Str.", (LexiconWord("Str.", "Straße", "NOUN"),), "Yes"),
        LexiconEntry("dunno", words, "Yes"),
    ]


def test_conllu_has_words_of_tokens_and_ends_in_misc():
    rows = ["# text = dunno Yahoo!", "1-2 dunno" + " _" * 8, "1 don't do AUX VBP Mood=Ind _ _ _ _"]
    rows += ["2 know" + " _" * 8, "3 Yahoo! Yahoo! PROPN NNP _ 0 root _ X=1|Ends=No"]
    text = "\n".join([rows[0], *(row.replace(" ", "\t") for row in rows[1:])]) + "\n\n"
    first = LexiconWord("don't", "do", "AUX", "VBP", "Mood=Ind")
    assert read_lexicon(io.StringIO(text)) == [
        LexiconEntry("dunno", (first, LexiconWord("know")), "Yes"),
        LexiconEntry("Yahoo!", (LexiconWord("Yahoo!", "Yahoo!", "PROPN", "NNP"),), "No"),
    ]


EXPECTED = "form and others of lemma, upos, xpos, feats, words, ends expected"
HEADER = "form\tlemma\tupos\txpos\tfeats\twords\tends\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++\n\na\tb\n", "<stream>:3: 2 columns, 1 expected"),
        ("form\tlemma\nC++\n", "<stream>:2: 1 columns, 2 expected"),
        ("form\tpos\nC++\tNN\n", f"<stream>:1: the header is form, pos; {EXPECTED}"),
        ("lemma\tupos\n", f"<stream>:1: the header is lemma, upos; {EXPECTED}"),
        (f"{HEADER}dunno\t_\tAUX PART\t_\t_\tdo n't know\t_\n", "<stream>:2: a column has not one value for each of"),
        (f"{HEADER}a\t_\tNO UN\t_\t_\t_\t_\n", "<stream>:2: a tag has a blank"),
        (f"{HEADER}a\t_\t_\t_\t_\t_\tnever\n", "<stream>:2: ends is 'never', one of _, Yes, No expected"),
        (f"{HEADER}a\t_\t_\t_\t_\tb\t_\n", "<stream>:2: the token 'a' has one word, which is another"),
        (f"{HEADER}{'a' * 1001}\t_\t_\t_\t_\t_\t_\n", "has 1001 characters, at most 1000 are allowed"),
        ("a\nb\x07\n", "<stream>:2: the value 'b\\x07' has a control character"),
        ("1\ta\t_\n\n", "<stream>:1: 3 columns, 10 expected"),
        ("1\ta" + "\t_" * 8 + "\n3\tb" + "\t_" * 8 + "\n\n", "<stream>:2: "),
        ("# x\n1\ta\t_\tNO UN" + "\t_" * 6 + "\n\n", "<stream>:2: a tag has a blank"),
    ],
)
def test_a_wrong_line_is_named(text, expected):
    with pytest.raises(DataError) as caught:
        read_lexicon(io.StringIO(text))
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="no such file|No such file"):
        read_lexicon(tmp_path / "missing")
    (tmp_path / "latin").write_bytes(b"a\nb\xe9\n")
    with pytest.raises(DataError, match="latin:2: byte 0xe9 is not UTF-8"):
        read_lexicon(tmp_path / "latin")
