"""A server for text and trees over HTTP, with the REST interface of UDPipe and a start page.

- `formats`: input and output that is not CoNLL-U: horizontal and vertical
- `processing`: one request, from data to result, in a worker process
- `pool`: worker processes that are given up when they take too long
- `app`: the interface: parameters, limits, errors
- `run`: sockets, signals, slow clients
"""
