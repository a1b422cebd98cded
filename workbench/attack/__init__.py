"""The attack on the workbench: ``python -m workbench.attack`` or ``make attack-workbench``; lanes as those of `attack`.

- `lanes`: all lanes, with their shares of the time
- `changes`: lane of changes by other programs while the annotator writes its file
- `floods`: lane of floods of connections to the annotator
- `planted`: lane of planted modules beside the data, where training is started
"""
