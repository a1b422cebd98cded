"""The treebanks of one release of Universal Dependencies: by language, by code, or by the name of their repository.

`LANGUAGES` lists each language's treebanks with training data, the default first.  Their files are the release's,
from the archive of the repository, with its README and licence; the digests of the files are recorded beside them when
they are fetched, and compared whenever they are used.
"""

from __future__ import annotations

import difflib
import re
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from treebanks import FROM_THE_INDEX, TreebankError, sha256, write_file

RELEASE = "2.12"
HOST = "https://github.com/UniversalDependencies"

LANGUAGES = """
Afrikaans af AfriBooms
Ancient_Greek grc PROIEL Perseus
Ancient_Hebrew hbo PTNK
Arabic ar PADT
Armenian hy ArmTDP BSUT
Basque eu BDT
Belarusian be HSE
Bulgarian bg BTB
Buryat bxr BDT
Catalan ca AnCora
Chinese zh GSDSimp GSD
Classical_Chinese lzh Kyoto
Coptic cop Scriptorium
Croatian hr SET
Czech cs CAC CLTT FicTree PDT
Danish da DDT
Dutch nl Alpino LassySmall
English en EWT Atis ESLSpok GUM LinES ParTUT
Erzya myv JR
Estonian et EDT EWT
Faroese fo FarPaHC
Finnish fi TDT FTB
French fr GSD ParTUT ParisStories Rhapsodie Sequoia
Galician gl CTG TreeGal
German de GSD HDT
Gothic got PROIEL
Greek el GDT GUD
Hebrew he HTB IAHLTwiki
Hindi hi HDTB
Hungarian hu Szeged
Icelandic is Modern GC IcePaHC
Indonesian id GSD CSUI
Irish ga IDT TwittIrish
Italian it ISDT MarkIT ParTUT ParlaMint PoSTWITA TWITTIRO VIT
Japanese ja GSD GSDLUW
Kazakh kk KTB
Korean ko GSD Kaist
Kurmanji kmr MG
Latin la PROIEL ITTB LLCT Perseus UDante
Latvian lv LVTB
Lithuanian lt ALKSNIS HSE
Maghrebi_Arabic_French qaf Arabizi
Maltese mt MUDT
Manx gv Cadhan
Marathi mr UFAL
Naija pcm NSC
North_Sami sme Giella
Norwegian no Bokmaal Nynorsk NynorskLIA
Old_Church_Slavonic cu PROIEL
Old_East_Slavic orv TOROT Birchbark RNC
Old_French fro SRCMF
Persian fa Seraji PerDT
Polish pl PDB LFG
Pomak qpm Philotis
Portuguese pt Bosque CINTIL PetroGold
Romanian ro RRT Nonstandard SiMoNERo
Russian ru GSD SynTagRus Taiga
Sanskrit sa Vedic
Scottish_Gaelic gd ARCOSG
Serbian sr SET
Slovak sk SNK
Slovenian sl SSJ SST
Spanish es GSD AnCora
Swedish sv Talbanken LinES
Tamil ta TTB
Telugu te MTG
Turkish tr IMST Atis BOUN FrameNet Kenet Penn Tourism
Turkish_German qtd SAGT
Ukrainian uk IU
Urdu ur UDTB
Uyghur ug UDT
Vietnamese vi VTB
Welsh cy CCG
Western_Armenian hyw ArmTDP
Wolof wo WTB
"""
"""Language, code and treebanks.  The first treebank is a general one of moderate size; others, such as Czech PDT,
German HDT or Russian SynTagRus, are several times as large, and take hours to train on."""

_REPOSITORY = re.compile(r"(?:UD_)?([A-Z][A-Za-z]*(?:_[A-Z][A-Za-z]*)*)-([A-Za-z0-9]+)")
_FILE = re.compile(r"([a-z]+_[a-z0-9]+-ud)-(train|test|dev)(?:-[a-z0-9]+)*\.conllu")
_BESIDE = re.compile(r"README(?:\.md|\.txt)|LICENSE(?:\.txt|\.md)?")
_LICENCE = re.compile(rb"^License:[ \t]*(\S.*)$", re.MULTILINE)
_DIGESTS = "SHA256SUMS"
PARTS = ("train", "test", "dev")


class Choice(NamedTuple):
    """Repositories of Universal Dependencies that a name may mean; the first is taken."""

    repositories: tuple[str, ...]

    @property
    def taken(self) -> str:
        """The repository that is taken."""
        return self.repositories[0]

    def explanation(self, taken: str = "") -> str:
        """Return a line that names the treebanks, and the one that is taken: by default the first of them.

        Examples
        --------
        >>> choice_of("de").explanation()
        'taking UD_German-GSD; Universal Dependencies 2.12 has UD_German-GSD and UD_German-HDT: name another to take it'
        """
        *others, last = self.repositories
        if not others and not taken:
            return f"taking {last} of Universal Dependencies {RELEASE}"
        listed = f"{', '.join(others)} and {last}" if others else last
        release = f"Universal Dependencies {RELEASE}"
        return f"taking {taken or self.taken}; {release} has {listed}: name another to take it"


def languages() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the code and the repositories of each language."""
    rows = (line.split() for line in LANGUAGES.split("\n") if line)
    return {name: (code, tuple(f"UD_{name}-{each}" for each in treebanks)) for name, code, *treebanks in rows}


def choice_of(name: str) -> Choice:
    """Return the repositories of a language, by its English name or code, or the one of this name.

    Raises
    ------
    TreebankError
        There is no such language; the message suggests similar ones.

    Examples
    --------
    >>> choice_of("old church slavonic").taken, choice_of("ud_german-hdt").taken, choice_of("UD_Xibe-XDT").taken
    ('UD_Old_Church_Slavonic-PROIEL', 'UD_German-HDT', 'UD_Xibe-XDT')
    """
    known, plain = {}, _plain(name)
    for language, (code, repositories) in languages().items():
        known[_plain(language)] = known[code] = Choice(repositories)
        known |= {_plain(each.removeprefix("UD_")): Choice((each,)) for each in repositories}
    if plain.removeprefix("ud_") in known:
        return known[plain.removeprefix("ud_")]
    if match := _REPOSITORY.fullmatch(name):
        return Choice((f"UD_{match[1]}-{match[2]}",))
    near = difflib.get_close_matches(plain, [each for each in known if len(each) > 3], 3)
    advice = f"did you mean {' or '.join(near)}?" if near else "a language in English, its code, or UD_German-GSD"
    raise TreebankError(f"no treebank is known by this name: {advice}; data_scripts/fetch.py --list names all")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def table() -> str:
    """Return a table of all languages."""
    rows = [(name.replace("_", " "), code, ", ".join(each)) for name, (code, each) in languages().items()]
    return "".join(f"{name:<24} {code:<4} {treebanks}\n" for name, code, treebanks in rows)


class Files(NamedTuple):
    """The files of a treebank, by name, and where they are from."""

    contents: dict[str, bytes]
    source: str

    def joined(self) -> dict[str, bytes]:
        """Return the training, test and development file, each in one piece, and README and licence.

        Raises
        ------
        TreebankError
            There is nothing to train on, or no test file.
        """
        found, names = {}, sorted(filter(_FILE.fullmatch, self.contents))
        for part in PARTS:
            pieces = [name for name in names if _FILE.fullmatch(name)[2] == part]
            if pieces:
                name = f"{_FILE.fullmatch(pieces[0])[1]}-{part}.conllu"
                found[name] = b"".join(self.contents[piece].strip(b"\n") + b"\n\n" for piece in pieces)
            elif part != "dev":
                kind = "training" if part == "train" else "test"
                raise TreebankError(f"{self.source} has no {kind} file; name another treebank")
        return found | {name: data for name, data in self.contents.items() if _BESIDE.fullmatch(name)}

    def licence(self) -> str:
        """Return the licence that the README states."""
        texts = (data for name, data in self.contents.items() if name.startswith("README"))
        stated = next((match[1] for text in texts if (match := _LICENCE.search(text))), b"not stated in its README")
        return stated.decode("utf-8", "replace").strip()


def unpack(source: Path) -> Files:
    """Return the files of a repository: of the archive that the host makes, or of a folder.

    Raises
    ------
    TreebankError
        It is neither.
    """
    found = {}
    if source.is_dir():
        for path in source.iterdir():
            if _is_wanted(path.name) and path.is_file():
                found[path.name] = path.read_bytes()
        return Files(found, str(source))
    try:
        with tarfile.open(source) as archive:
            for member in archive:
                folder, _, name = member.name.removeprefix("./").rpartition("/")
                if member.isfile() and "/" not in folder and _is_wanted(name):
                    found[name] = archive.extractfile(member).read()
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        reason = str(error).partition("\n")[0]
        raise TreebankError(f"{source}: not a readable tar archive ({reason})") from None
    return Files(found, source.name)


def _is_wanted(name: str) -> bool:
    return bool(_FILE.fullmatch(name) or _BESIDE.fullmatch(name))


def locate(repository: str, folder: Path) -> tuple[Path, ...] | None:
    """Return the files of a treebank in a folder of treebanks, or None.

    Raises
    ------
    TreebankError
        A file is not the one that was fetched.
    """
    name = repository.removeprefix("UD_")
    inside = [folder / f"{repository}-r{RELEASE}", folder / repository, folder / name]
    for place in [*inside, *([folder] if folder.name.startswith((repository, name)) else [])]:
        paths = [next(iter(sorted(place.glob(f"*-ud-{part}.conllu"))), None) for part in PARTS]
        if paths[0] and paths[1]:
            _compare(place)
            return tuple(filter(None, paths))
    return None


def _compare(folder: Path) -> None:
    """Compare the files of a folder with the digests that were recorded when they were fetched."""
    recorded = folder / _DIGESTS
    for line in recorded.read_text(encoding="utf-8").splitlines() if recorded.is_file() else ():
        digest, _, name = line.partition("  ")
        if (found := sha256((folder / name).read_bytes())) != digest:
            raise TreebankError(f"{folder / name}: SHA-256 is {found}, {digest} when it was fetched; remove {folder}")


def fetch(
    name: str,
    out: Path,
    folders: Sequence[Path],
    archive: Path | None,
    download: Callable[[str, Path], Path],
) -> tuple[Path, ...]:
    """Return the training, test and development file (where there is one) of a treebank; fetch missing ones.

    Parameters
    ----------
    name : str
        As in `choice_of`.
    out : Path
        Folder of treebanks that may be written to.
    folders : sequence of Path
        Read-only folders of treebanks, searched first.
    archive : Path or None
        The archive of the repository, downloaded by hand; then no folder is searched.
    download : callable
        ``download(url, folder)`` returns the downloaded file.

    Raises
    ------
    TreebankError
        The name is unknown, or the files cannot be found or fetched.
    """
    choice = choice_of(name)
    repository = choice.taken
    if archive is None:
        for folder in (*folders, out):
            if paths := locate(repository, folder):
                return paths
        with tempfile.TemporaryDirectory() as folder:
            url = f"{HOST}/{repository}/archive/refs/tags/r{RELEASE}.tar.gz"
            sys.stderr.write(f"fetching {url}\n")
            try:
                files = unpack(download(url, Path(folder)))
            except TreebankError as error:
                raise TreebankError(f"{error}; {_without_network(choice, folders)}") from None
    elif archive.exists():
        files = unpack(archive)
    else:
        raise TreebankError(f"{archive}: no such file or folder")
    return _write(files._replace(source=repository), out / f"{repository}-r{RELEASE}")


def _without_network(choice: Choice, folders: Sequence[Path]) -> str:
    """Return advice for messages: how to go on without a network."""
    here = [each for each in choice.repositories[1:] if any(locate(each, folder) for folder in folders)]
    if here:
        return f"{here[0]} is at hand: name it instead"
    return (
        f"without a network, name a folder that contains {choice.taken} (TREEBANKS=FOLDER or --source FOLDER), or a "
        f"copy of that archive (ARCHIVE=FILE or --archive FILE); {FROM_THE_INDEX}"
    )


def _write(files: Files, folder: Path) -> tuple[Path, ...]:
    """Write the files of a treebank to a folder, with their digests; return those of sentences."""
    found = files.joined()
    for name, data in found.items():
        write_file(folder / name, data)
    digests = "".join(f"{sha256(data)}  {name}\n" for name, data in found.items())
    write_file(folder / _DIGESTS, digests.encode())
    sys.stderr.write(f"{folder}: licence {files.licence()}; digests in {_DIGESTS}\n")
    return tuple(folder / name for name in found if _FILE.fullmatch(name))
