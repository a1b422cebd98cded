"""The command line.

- `main`: the commands, their arguments, and how errors are reported
- `arguments`: the parser of arguments, kinds of values, groups of options
- `train`, `parse`, `evaluate`, `show`, `inspect`, `compile`, `serve`: one for each command, with a function ``run``
- `resumable`: ``parse --resume``
- `signals`: Ctrl-C, SIGTERM and SIGHUP
- `provenance`: what a model remembers of its files and of the software
- `lazy_import`: an import that waits until it is needed
- `common`: what the commands share: loading a model, decoding options, workers, progress
"""
