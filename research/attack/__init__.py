"""A fuzzing campaign on nonproj: random damage to everything that it reads, and faults while it runs.

- `campaign`: cases, outcomes, failures; a lane runs case after case and keeps the figures
- `supervisor`: runs a lane in a separate process and detects crashes and hangs
- `material`: the treebanks and models that are damaged
- `mutators`: damages text and gzip archives
- `lanes`: all lanes, with their shares of the time
- `forgery`: damages models and checkpoints, with the checksums made right again
- `properties`: the properties of sentences, trees and errors
- `reads`, `parses`, `models`, `options`: lanes of damaged treebanks, models and configurations
- `exact`: a lane of random instances, compared with enumeration
- `components`: lanes of forged taggers, segmenters, networks, encoders and confidence classifiers
- `text`: a lane of plain text
- `live`, `server`, `floods`: live servers, and lanes of requests and of connections to them
- `forked`: runs the command line in forked processes
- `kills`, `writes`: lanes of signals and of writes that fail
- `planted`: lanes of code that others plant in the cache of kernels, and beside the data
- `report`: writes the figures into `README.md`
"""
