"""Proofs: what the checker accepts is true, by enumeration; what is certified is accepted; the rest is refused."""

import copy
import gzip
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from instances import seeds
from problems import KINDS, all_values, draw_problem, draw_scores, trees_over

from nonproj import decode_scores
from nonproj.cli.main import main
from nonproj.dual import check_proofs
from nonproj.dual.check_proofs import Refused, check_line
from nonproj.dual.options import SEARCH, DualOptions, SearchOptions
from nonproj.dual.proofs import as_line, search_with_proof
from nonproj.model.model import Model
from nonproj.parts.arcs import arc_space_from_mask, full_arc_space
from nonproj.parts.space import part_space

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SETS = ["arc", "sibling", "grandparent", ["arc", "sibling", "grandparent"], ["arc", "trisibling"]]
SETS += [["arc", "sibling", "trisibling"], ["arc", "sibling", "grandparent", "grandsibling"]]
SETS.append(["arc", "sibling", "grandparent", "grandsibling", "trisibling"])

WORSE = [{"heads": [2, 0], "score": 6.0, "within": 0.0}]
"""A tree that is not the best one in `test_reasons`."""


def small_proof():
    """A proof of the best tree of two words."""
    parts = part_space(full_arc_space(2), "arc")
    return search_with_proof(parts, np.array([1.0, 2.0, 4.0, 9.0]), DualOptions(), SEARCH)[1]


def draw_proof(seed):
    """A proof of one to ten trees of a few words, over all arcs or some, with costs of crossed arcs or none."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    parts, scores = draw_problem(rng, int(rng.integers(2, 6)), SETS[seed % len(SETS)], kind, pruned=bool(seed % 3))
    form = {"single_root": bool(rng.integers(2)), "projective": seed % 5 == 0}
    k = int(rng.choice([1, 1, 3, 10]))
    if not trees_over(parts.arcs, **form):
        return None
    costs = draw_scores(rng, kind, len(parts.arcs.head)).clip(0.0) if seed % 3 == 1 else None
    limits, options = SearchOptions(node_iterations=1 + seed % 30), DualOptions((3, 250)[seed % 2], **form)
    return search_with_proof(parts, scores, options, limits, k, f"seed {seed}", costs)[1]


def problem_of(proof):
    """The parts and scores of a proof, and the value of each of its trees."""
    candidates = proof["candidates"]
    mask = np.zeros((len(candidates) + 1,) * 2, np.bool_)
    for m, heads in enumerate(candidates, 1):
        mask[heads, m] = True
    parts = part_space(arc_space_from_mask(mask), list(proof["scores"]))
    scores = np.concatenate(list(proof["scores"].values()))
    costs = np.array(proof["costs"]) if proof["costs"] else None
    trees = trees_over(parts.arcs, proof["single_root"], proof["projective"])
    return {tree[1:]: value for tree, value in all_values(parts, scores, costs, trees).items()}


def is_true(proof):
    """Whether what a proof claims is true."""
    values = problem_of(proof)
    listed = [tuple(tree["heads"]) for tree in proof["trees"]]
    largest = max(map(abs, values.values()), default=0.0)
    for rank, (heads, tree) in enumerate(zip(listed, proof["trees"], strict=True)):
        others = [score for other, score in values.items() if other not in listed[: rank + 1]]
        error = 1e-12 * (1.0 + largest)
        if abs(values[heads] - tree["score"]) > error:
            return False
        if tree["within"] is not None and max(others, default=-np.inf) > values[heads] + tree["within"] + error:
            return False
    return True


def test_certified_trees_are_proved():
    """Certified trees of any order, branched, with costs, projective or ranked, have true proofs that are accepted."""
    proofs = {seed: proof for seed in seeds(1500, part=15) if (proof := draw_proof(seed)) is not None}
    verdicts = {seed: check_line(as_line(proof))[1].status for seed, proof in proofs.items()}
    assert all(verdicts[seed] != "open" and is_true(proof) for seed, proof in proofs.items())
    steps, tried = [proof["search"] for proof in proofs.values()], len(proofs)
    assert list(verdicts.values()).count("optimal") > 0.9 * tried
    assert sum(len(proof["trees"]) > 1 for proof in proofs.values()) > tried // 10
    assert sum(len(search) > 1 for search in steps) > tried // 10
    assert sum("without" in str(search) for search in steps) > tried // 30
    assert sum("crossed" in str(search) for search in steps) > tried // 30


def places_of(value, path=()):
    """The path to every value inside a proof, lists and dictionaries included."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_of(inner, (*path, key))


def alter(rng, proof):
    """A copy of a proof, with something at random replaced, removed, doubled or exchanged, or of any other tree."""
    altered = copy.deepcopy(proof)
    if rng.random() < 0.4:
        heads, score = list(problem_of(proof).items())[int(rng.integers(len(problem_of(proof))))]
        altered["trees"] = [{"heads": list(heads), "score": score, "within": 1e-7}]
        return altered
    paths = list(places_of(altered))[1:]
    *path, key = paths[int(rng.integers(len(paths)))]
    holder = altered
    for step in path:
        holder = holder[step]
    old, kind = holder[key], int(rng.integers(6))
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(old))
    elif kind == 2 and isinstance(holder, list) and len(holder) > 1:
        other = int(rng.integers(len(holder)))
        holder[key], holder[other] = holder[other], holder[key]
    elif isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int | float):
        holder[key] = rng.choice([old + 1, old - 1, -old, 2 * old, old + rng.normal(), 1e9, -1e9]).item()
        holder[key] = int(holder[key]) if isinstance(old, int) and kind < 5 else holder[key]
    else:
        holder[key] = (None, 0, [], "crossing", {}, ["crossed", 0, 1])[int(rng.integers(6))]
    return altered


PIECES = [(0, 300), *(pytest.param(first, 10_000, marks=pytest.mark.thorough) for first in range(0, 100_000, 10_000))]


@pytest.mark.parametrize(("first", "count"), PIECES)
def test_altered_proofs_are_refused_or_true(first, count):
    """With a digest of its own an altered proof is another proof: it is refused, unless what it claims is true.

    A hundred thousand altered proofs, in pieces that several processes can share.
    """
    proofs = [proof for proof in map(draw_proof, range(60)) if proof is not None]
    digests = [line[line.index(', "digest"') :] for line in map(as_line, proofs)]
    refused = true = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        proof, digest = proofs[seed % len(proofs)], digests[seed % len(proofs)]
        altered = alter(rng, proof)
        if altered == proof:
            continue
        with pytest.raises(Refused, match=r"altered|malformed"):
            check_line(json.dumps(altered)[:-1] + digest)
        try:
            check_line(as_line(altered))
        except Refused:
            refused += 1
        else:
            assert is_true(altered), (seed, altered)
            true += 1
    assert refused > true > 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda proof: proof["trees"][0].update(heads=[2, 0]), "value of a tree"),
        (lambda proof: proof["trees"][0].update(heads=[2, 1]), "not a tree"),
        (lambda proof: proof["scores"].update(arc=[1.0, 2.0, 4.0]), "one score for each arc"),
        (lambda proof: proof.update(search=[0, 0]), "after its end"),
        (lambda proof: proof.update(search=[]), "does not reach its end"),
        (lambda proof: proof.update(search=[[0, 1], 0]), "does not reach its end"),
        (lambda proof: proof.update(search=[[1, 1], 0, 0]), "none of them has"),
        (lambda proof: proof.update(search=[3]), "number of shares, 3, is unknown"),
        (lambda proof: proof.update(search=[{"without": [0], "shares": 3}, 0]), "number of shares, 3, is unknown"),
        (lambda proof: proof.update(search=[{"without": [4], "shares": 0}, 0]), "left out is unknown"),
        (lambda proof: proof.update(search=[*[{"without": [0], "shares": 0}] * 2, 0]), "left out that no tree has"),
        (lambda proof: proof.update(search=[{"without": [0], "shares": 0}]), "does not reach its end"),
        (lambda proof: proof.update(trees=WORSE, search=[{"without": [3], "shares": 0}, 0]), "may be better by 4.0"),
        (lambda proof: proof.update(version=3), "version 4"),
        (lambda proof: proof.update(costs=[1.0, -1.0, 0.0, 0.0]), "cost is negative"),
        (lambda proof: proof.update(costs=[1.0, 1.0, 0.0]), "not one cost for each arc"),
        (lambda proof: proof.update(costs=[0.0, 0.0, 1.0, 0.0], projective=True), "without effect"),
        (lambda proof: proof.update(search=[["crossed", 0, 1], 0]), "does not reach its end"),
        (lambda proof: proof.update(search=[["crossed", 1, 1], 0, 0, 0]), "none of them has"),
        (lambda proof: proof.update(search=[["crosses", 0, 1], 0, 0, 0]), "step of the search is unknown"),
        (lambda proof: proof["scores"].update(arc=[1.0, 2.0, 4.0, float("nan")]), "'NaN' is not a number"),
        (lambda proof: proof["scores"].update(other=[]), "type of part"),
        (lambda proof: proof.update(candidates=[[2, 0], [0, 1]]), "in order"),
        (lambda proof: proof.update(candidates=[[0], [1]], scores={"arc": [1.0, 9.0]}), "2 candidate arcs do not"),
        (lambda proof: proof.update(outside="pruned"), "4 candidate arcs do not leave 'pruned'"),
        (lambda proof: proof.update(note=1), "unknown or of the wrong type: note"),
        (lambda proof: proof["trees"][0].update(proven=True), "unknown or of the wrong type: proven"),
        (lambda proof: proof.update(search=[{"without": [3], "shares": 0, "why": 1}, 0]), "wrong type: why"),
        (lambda proof: proof.update(single_root=1), "wrong type: single_root"),
        (lambda proof: proof["trees"][0].update(heads=[False, True]), "a head is unknown"),
        (lambda proof: proof["trees"][0].update(within=2.8e-7), "tolerance of 2.8e-07 is above 2.8"),
        (lambda proof: proof.update(multipliers=[{"1": 2, "3": 4}]), "'1' is not a number"),
    ],
)
def test_reasons(change, reason):
    """The reason says what is wrong."""
    proof = small_proof()
    check_line(as_line(proof))
    change(proof)
    with pytest.raises(Refused, match=reason):
        check_line(as_line(proof))


@pytest.mark.parametrize("inner", ['"single_root": false', '"arc": [1.0, 2.0, 4.0, 9.0]', '"heads": [0, 1]'])
def test_a_key_that_stands_twice_is_refused(inner):
    """At every level: readers would see different trees."""
    with pytest.raises(Refused, match="a key stands twice"):
        check_line(as_line(small_proof()).replace(inner, f"{inner}, {inner}"))


@pytest.mark.parametrize(
    ("options", "cost", "words"),
    [
        (DualOptions(), 0.0, "among all trees with one or more roots, over all arcs"),
        (DualOptions(single_root=True), 1e6, "trees with a single root, less the costs of crossed arcs, over all"),
        (DualOptions(projective=True), 3.0, "among projective trees with one or more roots, over all arcs"),
    ],
)
def test_the_verdict_names_what_it_is_about(options, cost, words):
    """Words 1 and 3 depend on each other's neighbours, so that the best tree crosses if that is free."""
    scores = np.zeros((5, 5))
    scores[[0, 3, 1, 2], [2, 1, 4, 3]] = 4.0
    parts = part_space(full_arc_space(4), "arc")
    scores, costs = scores[parts.arcs.head, parts.arcs.modifier], np.full(len(parts), cost)
    proof = search_with_proof(parts, scores, options, SEARCH, 1, "", costs)[1]
    (heads,), verdict = check_line(as_line(proof))
    assert (heads == [3, 0, 2, 1]) == (not options.projective and not cost)
    assert verdict.about["costs"] is (cost > 0 and not options.projective)
    assert words in check_proofs.describe(verdict)
    assert verdict.about["projective"] is options.projective and verdict.about["single_root"] is options.single_root
    assert verdict.about["model"] is verdict.about["words"] is None
    assert check_proofs.facts_of(verdict.about)[1] == "taken on trust: the scores, which were given without a model"


@pytest.mark.parametrize(("size", "projective"), [(10_001, False), (501, True)])
def test_limits(size, projective):
    """Words, and those of projective trees, are limited: see the checker's help."""
    record = small_proof() | {"projective": projective, "outside": "pruned", "search": [0]}
    record["multipliers"] = [[None, None]]
    record["candidates"] = [sorted([0, 1 + m % size]) for m in range(1, size + 1)]
    record |= {"scores": {"arc": [0.0] * (2 * size)}, "trees": [{"heads": [0] * size, "score": 0.0, "within": 0.0}]}
    with pytest.raises(Refused, match=f"^.*{size} words; at most {size - 1}"):
        check_line(as_line(record))


def test_arrays():
    """`decode_scores` returns a line for each sentence: with labels, masks of any size, batches and empty sentences."""
    rng = np.random.default_rng(5)
    arcs, labels = rng.normal(size=(3, 6, 6)), rng.normal(size=(3, 6, 6, 2))
    siblings, grandparents = rng.normal(size=(2, 3, 6, 6, 6))
    for mask, k, projective in itertools.product((-np.inf, -1e4, -1e9, -1e30), (1, 4), (False, True)):
        masked = np.where(rng.random(arcs.shape) < 0.4, mask, arcs)
        chain = slice(None), range(5), range(1, 6)
        masked[chain] = arcs[chain]
        given = {"label_scores": labels, "k": k, "projective": projective, "lengths": [5, 0, 3]}
        found = decode_scores(masked, siblings, grandparents, proofs=True, **given)
        plain = decode_scores(masked, siblings, grandparents, **given)
        np.testing.assert_array_equal(found.heads, plain.heads)
        np.testing.assert_array_equal(found.bounds, plain.bounds)
        assert found.proofs[1] == ""
        for b, size in ((0, 5), (2, 3)):
            trees, verdict = check_line(found.proofs[b])
            assert trees[0] == found.heads[b, :size].tolist() and verdict.status != "open"
            own = masked[b, : size + 1, : size + 1][~np.eye(size + 1, dtype=bool) & (np.arange(size + 1) > 0)]
            assert verdict.about["outside"] == ("nothing" if (own > -1e8).all() else "forbidden")
    single = decode_scores(arcs[0], proofs=True)
    assert check_line(single.proofs)[0][0] == single.heads.tolist()


def test_without_a_certificate_nothing_is_claimed():
    """A search that reached its limit has no proof, and says so."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(13, 13)), *rng.normal(size=(2, 13, 13, 13))
    verdict = check_line(decode_scores(*scores, proofs=True, work_per_word=0).proofs)[1]
    assert verdict.status == "open" and check_proofs.describe(verdict) == "no proof is claimed"


def parse(*words):
    """The exit code of parsing with the golden model."""
    return main(["parse", *map(str, (GOLDEN / "model.nonproj", *words))])


@pytest.fixture(scope="module")
def checker(tmp_path_factory):
    """The checker alone in a folder, run without the packages that are installed here."""
    file = shutil.copy(check_proofs.__file__, tmp_path_factory.mktemp("alone"))

    def check(*arguments):
        words = [sys.executable, "-I", "-S", file, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    return check


WAYS = [([], "pruned"), (["--nbest", "3"], "pruned"), (["--jobs", "2"], "pruned"), (["--projective"], "pruned")]
WAYS += [(["--constraints", "misc"], "pruned or forbidden"), (["--full"], "")]


@pytest.mark.parametrize(("more", "outside"), WAYS)
def test_files(more, outside, checker, tmp_path):
    """``nonproj parse --proofs``: one line for each sentence, in order, that the checker alone confirms."""
    proofs, parsed = tmp_path / "a.proofs.gz", tmp_path / "a.conll"
    assert parse(GOLDEN / "input.conll", *more, "--proofs", proofs, "-o", parsed) == 0
    done = checker(proofs, parsed)
    lines = gzip.decompress(proofs.read_bytes()).splitlines()
    assert done.returncode == 0, done.stdout
    summary = f"{len(lines)} optimal, 0 optimal within a tolerance, 0 without a claim, 0 refused\n"
    assert len(lines) > 5 and summary in done.stdout
    kind = "projective trees" if "--projective" in more else "all trees"
    assert f"{GOLDEN / 'input.conll'}:1: optimal" in done.stdout and f"among {kind} with a single root" in done.stdout
    trust = f"taken on trust: that no better tree has other arcs; they are {outside}\n"
    assert (f"; the others are {outside}\n" if outside else "over all arcs\n") in done.stdout
    assert (trust if outside else "") in done.stdout and ("no better tree" in done.stdout) == bool(outside)
    text = parsed.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(i for i, line in enumerate(text) if line.startswith("2\t"))
    columns = text[place].split("\t")
    columns[6] = "1" if columns[6] != "1" else "3"
    parsed.write_text("".join([*text[:place], "\t".join(columns), *text[place + 1 :]]), encoding="utf-8")
    done = checker(proofs, parsed)
    assert done.returncode == 1 and f"{proofs}:1: refused: the parsed file has another tree" in done.stdout


def test_files_that_cannot_be_checked(checker, tmp_path):
    """A missing file and one that is not compressed are one line each; broken lines are refused, one by one."""
    done = checker(tmp_path / "missing")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "missing" in done.stderr
    packed = gzip.compress(b"{}\n" * 10_000)
    for content in (b"not compressed", packed[:20], packed[:14] + b"\xff" * 8 + packed[22:]):
        (tmp_path / "a.gz").write_bytes(content)
        done = checker(tmp_path / "a.gz")
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "a.gz: " in done.stderr, done
    broken = [b'{"format": ', b"\xff\xfe", b"[1]", b'{"digest": 3}', b'{"digest": "", "trees": 7}', b"[" * 10**6]
    (tmp_path / "b").write_bytes(b"\n".join(broken))
    done = checker(tmp_path / "b")
    assert done.returncode == 1 and done.stdout.endswith("0 without a claim, 6 refused\n"), done.stdout
    assert checker().returncode == 2 and checker("--help").returncode == 0


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Proofs of two sentences of the golden treebank, and their parses as lists of lines of columns."""
    folder = tmp_path_factory.mktemp("golden")
    sentences = (GOLDEN / "input.conll").read_text(encoding="utf-8").split("\n\n")[:2]
    (folder / "in").write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    assert parse(folder / "in", "--proofs", folder / "p", "-o", folder / "o") == 0
    return folder / "p", [line.split("\t") for line in (folder / "o").read_text(encoding="utf-8").split("\n")]


@pytest.mark.parametrize(
    ("column", "value", "code", "message"),
    [
        *((6, value, 2, "HEAD are ['2', ") for value in (" 2", "+2", "2.0", "x", "-7", "", "²", "7" * 5000)),
        (0, "3", 2, "ID and HEAD are ['3', "),
        (6, "_", 0, "\n1 words of "),
        (1, "another", 1, "p:1: refused: the parsed file has other words or tags"),
        (4, "another", 1, "p:1: refused: the parsed file has other words or tags"),
        (9, "another", 0, "\n2 optimal, 0 optimal within a tolerance, 0 without a claim, 0 refused\n"),
    ],
)
def test_the_parsed_file_is_compared_strictly(column, value, code, message, golden, checker, tmp_path):
    """Words, tags, numbers and heads are those of the proofs, and what is no head is none."""
    proofs, rows = golden
    changed = copy.deepcopy(rows)
    changed[1][column] = value
    lines = ["# a comment after a byte order mark", "1-2\ta token", *map("\t".join, changed)]
    (tmp_path / "o").write_text("\n".join(lines), encoding="utf-8-sig")
    done = checker(proofs, tmp_path / "o")
    assert done.returncode == code and message in done.stdout + done.stderr, done
    assert done.stderr.count("\n") == (code == 2) and (code != 2 or f"{tmp_path / 'o'}:4: " in done.stderr)


def test_the_model_is_that_of_the_proofs(golden, checker, tmp_path):
    """Its digest is that of the file, as ``sha256sum`` prints it."""
    proofs, _ = golden
    digest = hashlib.sha256((GOLDEN / "model.nonproj").read_bytes()).hexdigest()
    done = checker(proofs, "--model", GOLDEN / "model.nonproj")
    options = "with tags missing, constraints none, threshold "
    assert done.returncode == 0 and f"taken on trust: the scores, of the model {digest}, {options}" in done.stdout
    done = checker(proofs, "--model", proofs)
    assert done.returncode == 1 and done.stdout.count("refused: it is of another model") == 2
    model = Model.load(GOLDEN / "model.nonproj")
    model.save(tmp_path / "m")
    saved = hashlib.sha256((tmp_path / "m").read_bytes()).hexdigest()
    assert model.sha256 == digest and Model.from_bytes((tmp_path / "m").read_bytes()).sha256 == saved


def test_verdicts_as_json(golden, checker):
    """One line for each proof, with what it is about."""
    lines = checker(golden[0], "--json").stdout.splitlines()
    first, second = map(json.loads, lines)
    assert first["place"] == f"{golden[0]}:1" and first["status"] == second["status"] == "optimal"
    about = {"projective": False, "single_root": True, "outside": "pruned"}
    assert about.items() <= first["about"].items() and first["about"]["words"] != second["about"]["words"]


def test_a_long_line_is_refused(golden, checker, tmp_path):
    """It is not read as a whole, and the next one is checked, also where they are compressed."""
    with gzip.open(tmp_path / "p.gz", "wb", 1) as stream:
        stream.write(b" " * 32_000_001 + b"\n" + golden[0].read_bytes())
    done = checker(tmp_path / "p.gz")
    assert done.returncode == 1 and "p.gz:1: refused: a line of more than 32,000,000 bytes" in done.stdout
    assert "\n2 optimal, " in done.stdout


def test_names_that_cannot_be_printed(checker, tmp_path):
    """Bytes that are no characters, and control characters, neither stop the checker nor reach the terminal."""
    source = tmp_path / os.fsdecode(b"a\xff\x1b[31m.conll")
    shutil.copy(GOLDEN / "input.conll", source)
    assert parse(source, "--proofs", tmp_path / "p", "-o", tmp_path / "o") == 0
    done = checker(tmp_path / "p", tmp_path / "o")
    assert done.returncode == 0 and "a??[31m.conll:1: optimal" in done.stdout and "\x1b" not in done.stdout


def test_proofs_cannot_be_resumed(tmp_path, capsys):
    """The two options exclude each other."""
    assert parse(GOLDEN / "input.conll", "--proofs", tmp_path / "p", "--resume", "-o", tmp_path / "o") == 2
    assert "--proofs: cannot be continued; leave out --resume" in capsys.readouterr().err
