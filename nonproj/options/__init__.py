"""The options of a parser.

- `schema`: what an option is: its default, help text, allowed values and their validation
- `kinds`: options that need a check of their own
- `network`: the options of the network over arcs
- `config`: all options as frozen dataclasses, read from YAML or from the command line
"""
