"""A server for text and trees over HTTP, with the REST interface of UDPipe and a start page.

- `formats`: input and output that is not CoNLL-U: horizontal and vertical
- `processing`: one request, from data to the body of the response, in a worker process
- `memory`: the limit of a worker's memory
- `copies`: the server's own copies of its models
- `admission`: which requests can be answered in time
- `pool`: worker processes, and the requests that wait for them
- `parameters`, `bodies`: what requests ask for, and how it is read
- `hosts`: names of the server and foreign pages
- `connections`: clients that send slowly or do not read
- `monitoring`, `description`: the log, metrics, and the description of the interface
- `app`: the paths and errors
- `run`: sockets, signals, and the end
"""
