"""The attack on the systems: ``python -m systems.attack`` or ``make attack-systems``; lanes as those of `attack`.

- `lanes`: all lanes, with their shares of the time
- `models`: lane of models, damaged and forged
"""
