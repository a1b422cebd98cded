"""YAML documents: texts, numbers, truth values, lists and mappings, without tags, aliases and duplicate keys.

Options and templates need no more.  A tag asks for a conversion, which can fail; aliases let a short document stand for
an enormous one.  Dates are texts, and so is ``1:30``, which YAML 1.1 reads as 90.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nonproj.errors import ConfigError

if TYPE_CHECKING:
    import yaml

_INTEGER = re.compile(r"[-+]?[0-9]+(_[0-9]+)*$")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$")
_FIRST = list("-+.0123456789")


def load_yaml(path: str | Path) -> Any:
    """Read a YAML document.

    Raises
    ------
    ConfigError
        The file cannot be read, or is not YAML as described above.
    """
    try:
        with open(path, encoding="utf-8-sig") as stream:
            text = stream.read()
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "is not UTF-8") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML document; errors name it, and the line.

    Examples
    --------
    >>> parse_yaml("{a: [1, 1e-4, 1:30, 2024-01-31], b: yes}", "x")
    {'a': [1, 0.0001, '1:30', '2024-01-31'], 'b': True}
    >>> parse_yaml("a: 1\\nb: !!int one", "x")
    Traceback (most recent call last):
    nonproj.errors.ConfigError: x:2: invalid YAML: tags are not allowed, such as !!int
    """
    import yaml

    try:
        loader = _loader()(text)
        return loader.get_single_data()
    except yaml.reader.ReaderError as error:
        line, problem = text.count("\n", 0, error.position), f"forbidden character {chr(error.character)!r}"
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, error.problem or str(error.context)
        line = mark.line if mark else 0
    except RecursionError:
        line, problem = loader.get_mark().line, "too many nested lists or mappings"
    raise ConfigError(f"{name}:{line + 1}", f"invalid YAML: {problem}")


def _loader() -> type[yaml.SafeLoader]:
    import yaml

    class Loader(yaml.SafeLoader):
        """Loads values without tags, aliases and duplicate keys; of the latter YAML silently keeps the last."""

        yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML's own name and type)
            first: [(tag, pattern) for tag, pattern in pairs if tag.endswith((":bool", ":null"))]
            for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            """Return the next node; refuse an alias or a tag."""
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent):
                raise _error(f"aliases are not allowed, such as *{event.anchor}", event)
            if tag := getattr(event, "tag", None):
                raise _error(f"tags are not allowed, such as {tag.replace('tag:yaml.org,2002:', '!!')}", event)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            """Return a mapping without duplicate keys."""
            seen = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    raise _error(f"duplicate key {key.value}", key)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

        def integer(self, node: yaml.ScalarNode) -> int:
            """Return an integer; raise an error if it has more digits than Python converts, some thousand."""
            try:
                return int(node.value)
            except ValueError:
                raise _error(f"an integer of {len(node.value)} digits", node) from None

    def _error(problem: str, place: Any) -> yaml.MarkedYAMLError:
        return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)

    Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, _FIRST)
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, _FIRST)
    Loader.add_constructor("tag:yaml.org,2002:int", Loader.integer)
    return Loader
