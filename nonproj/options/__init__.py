"""The options of a parser.

- `reading`: YAML documents without tags, aliases and duplicate keys
- `schema`: the declaration of an option: its default, help text, allowed values and their validation
- `kinds`: types of options with checks of their own
- `sections`: all options, as frozen dataclasses
- `config`: the configuration, read from YAML or from the command line
"""
