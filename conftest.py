"""Leaves out the doctests of modules that cannot be imported, and lets numpy use one thread."""

import os
from importlib.util import find_spec

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more wait actively for each other, in each of the tests' processes

_LIBRARIES = {
    "nonproj/integrations/spacy.py": "spacy",
    "nonproj/learning/encoders/checkpoint.py": "torch",
    "nonproj/learning/encoders/losses.py": "torch",
    "nonproj/learning/encoders/module.py": "torch",
    "nonproj/learning/encoders/training.py": "torch",
    "nonproj/server/app.py": "prometheus_client",
    "nonproj/server/bodies.py": "python_multipart",
    "nonproj/server/connections.py": "uvicorn",
    "nonproj/server/hosts.py": "starlette",
    "nonproj/server/library.py": "uvicorn",
    "nonproj/server/monitoring.py": "prometheus_client",
    "nonproj/server/receiving.py": "starlette",
    "nonproj/server/run.py": "uvicorn",
}

collect_ignore = [path for path, library in _LIBRARIES.items() if find_spec(library) is None]
