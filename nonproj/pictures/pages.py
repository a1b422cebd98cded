"""Self-contained web pages: joined scripts, and a content security policy that lets a browser run nothing else."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re
from collections.abc import Iterable

_IMPORT = re.compile(r'^import \{[^}]*\} from "[^"]*";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|function|async|class)", re.MULTILINE)


def resource(package: str, name: str) -> str:
    """Return the text of a file in a package.

    Examples
    --------
    >>> ":root" in resource("nonproj.pictures", "tree.css")
    True
    """
    return importlib.resources.files(package).joinpath(name).read_text(encoding="utf-8")


def join_modules(modules: Iterable[str]) -> str:
    """Return JavaScript modules as one module; each imports only from those before it, and no two share a name.

    Examples
    --------
    >>> join_modules(['export const a = 1;\\n', 'import {a} from "./a.js";\\nalert(a);\\n'])
    'const a = 1;\\n\\nalert(a);\\n'
    """
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)


def policy(script: str, style: str) -> str:
    """Return a content security policy under which a page runs its own script and style, and loads nothing.

    Examples
    --------
    >>> policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    digests = (base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in (script, style))
    script, style = (f"'sha256-{digest}'" for digest in digests)
    own = f"default-src 'none'; script-src {script}; style-src {style}"
    return f"{own}; img-src data:; base-uri 'none'; form-action 'none'"


def headers(script: str, style: str) -> dict[str, str]:
    """Return the headers of a server's page, with a policy that lets it connect to this server only.

    Examples
    --------
    >>> headers("", "")["Referrer-Policy"]
    'no-referrer'
    """
    return {
        "Content-Security-Policy": f"{policy(script, style)}; connect-src 'self'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
