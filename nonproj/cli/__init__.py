"""The command line.

- `main`: the arguments, and how errors are reported
- `train`, `parse`, `evaluate`, `inspect`, `compile`, `serve`: one module for each command, with a function ``run``
- `signals`: Ctrl-C, SIGTERM and SIGHUP
- `common`: what the commands share: loading a model, decoding options, workers, progress
"""
