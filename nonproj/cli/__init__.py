"""The command line.

- `main`: the commands, their arguments, and error reporting
- `arguments`: the argument parser, groups of options; `command_arguments`: the arguments of commands
- `values`: types of values of options
- `train`, `distil`, `parse`, `evaluate`, `show`, `inspect`, `package`, `models`, `compile`, `serve`: one module per
  command, with a function ``run``
- `plugins`: commands of other distributions
- `model_names`: models named on the command line
- `targets`: the files of ``parse ... -o FOLDER``; `several`: parsing them, parsing by workers, and ``parse --resume``
- `signals`: Ctrl-C, SIGTERM and SIGHUP
- `reading`: the treebanks that a command reads, and `--on-error`
- `loading`: loading a model, with the decoding options of the command line
- `fitting`: a warning about input that does not fit the model
- `training_progress`: the progress of training, and the log beside the model
- `provenance`: the record of files and software in a model; `treebanks`: name, licence and language of a treebank
- `warmup`: calls every kernel once, so that compilation happens at set-up
- `common`: shared by the commands: reading rules, outputs, workers, progress
"""
