"""Templates: refusals and their messages; types and attributes of valid ones."""

import json
import re

import numpy as np
import pytest
from toy import sentences

from nonproj.components.trainer import train
from nonproj.errors import ConfigError, ModelError
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.templates import attributes_of, check_templates, load_templates, parse, part_templates
from nonproj.scoring.vocabulary import ATTRIBUTES, FEAT

BETWEEN = "'h.feat between.pos': a term over the words between stands alone, without single features"


WRONG = [
    ("h.form x.pos", "arc", "'x.pos': the words of this part are h, m, between"),
    ("s.pos", "grandparent", "'s.pos': the words of this part are g, h, m"),
    ("s.pos", "label", "'s.pos': the words of this part are h, m, g, l, r, a, z"),
    ("h.colour", "arc", f"'h.colour': known attributes are {', '.join((*ATTRIBUTES, FEAT))}"),
    ("h.pos h+4.form", "arc", "'h+4.form': offsets go from -3 to +3"),
    ("m-4.form", "label", "'m-4.form': offsets go from -3 to +3"),
    ("h+12.form", "arc", "'h+12.form' in 'h+12.form' is not of the form slot+offset.attribute"),
    ("between+1.pos", "arc", "'between+1.pos' in 'between+1.pos' is not of the form slot+offset.attribute"),
    ("between.pos", "sibling", "'between.pos': the words of this part are h, s, m"),
    ("h+1.feat", "arc", "'h+1.feat': single features are those of h and m themselves"),
    ("g.feat", "label", "'g.feat': single features are those of h and m themselves"),
    ("h.feat m.feat", "sibling", "'h.feat m.feat': single features are for arcs and labels only"),
    ("h.feat between.pos", "arc", BETWEEN),
    ("h.feat m.pos h.feat", "label", "'h.feat m.pos h.feat': single features at most once for h and once for m"),
    (" \t", "label", "an empty template"),
]


@pytest.mark.parametrize("text, part, message", WRONG)
def test_a_wrong_template_is_named(text, part, message):
    with pytest.raises(ConfigError) as caught:
        parse(text, part)
    assert str(caught.value) == f"features.{part}: {message}"


@pytest.mark.parametrize("file, text", [("sibling", "h.feat m.feat"), ("arc", "h.feat between.pos")])
def test_no_way_leads_around_the_refusal(tmp_path, file, text):
    """From a folder, in memory, and in a model file: kernels would read features of words that are not there."""
    files = load_templates()
    files[file] = files[file] | {"templates": [text]}
    with pytest.raises(ConfigError, match=f"^features.{file}: "):
        check_templates(files, "grandparent")
    for name, spec in files.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(spec))
    with pytest.raises(ConfigError, match=f"^{re.escape(str(tmp_path / file))}.yaml: "):
        load_templates(tmp_path)
    model = Model(Config(), {name: ["x"] for name in (*ATTRIBUTES, FEAT)}, files, ["x"], {}, {})
    with pytest.raises(ModelError, match=f"cannot be used: features.{file}: "):
        Model.from_bytes(model.to_bytes())


def test_kernels_get_the_dtypes_they_know_from_any_file():
    for templates in (["h.pos"], ["h.feat"], ["between.pos"]):
        table = part_templates({"part": "arc", "codes": ["none"], "templates": templates}, ["pos"])
        wanted = {"salt": "u8", "term_coefficient": "u8", "between_coefficient": "u8", "feat_coefficient": "u8"}
        for name, array in table._asdict().items():
            if isinstance(array, np.ndarray):
                assert array.dtype == np.dtype(wanted.get(name, "i4")), name
                assert array.flags.c_contiguous, name
        assert isinstance(table.code_shift, np.uint32)


def test_blanks_and_repetitions_do_not_matter():
    tidy, untidy = ["h.pos m.pos", "h.form"], ["h.pos  m.pos ", "h.form", " h.pos m.pos"]
    specs = ({"part": "arc", "codes": ["none"], "templates": texts} for texts in (tidy, untidy))
    for one, other in zip(*(part_templates(spec, ["form", "pos"]) for spec in specs), strict=True):
        assert np.array_equal(one, other)


def test_attributes_are_those_named_in_a_fixed_order():
    specs = ("arc", ["m.tag h.form", "h.feat"]), ("sibling", ["s+1.cpos"])
    for each in (specs, specs[::-1]):
        files = {part: {"part": part, "templates": templates} for part, templates in each}
        assert attributes_of(files) == ["form", "cpos", "tag"]


@pytest.mark.parametrize("name", ["cluster", "vector"])
def test_templates_that_name_clusters_or_vectors_need_them(name, tmp_path):
    for part, spec in load_templates(parts="arc").items():
        (tmp_path / f"{part}.yaml").write_text(json.dumps(spec | {"templates": [f"h.pos m.{name}"]}))
    config = Config(parts="arc").with_overrides({"features.folder": str(tmp_path)})
    with pytest.raises(ConfigError, match=rf"^features.{name}s: .*the templates name {name}$"):
        train(sentences(5), config)
