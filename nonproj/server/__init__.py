"""An HTTP server for text and trees, with the REST interface of UDPipe and a start page.

- `processing`: one request, from data to the body of the response, in a worker process
- `memory`: the memory limit of a worker
- `copies`: the server's own copies of its models
- `admission`: decides which requests can be answered in time; the errors of refused and of ended requests
- `starting`, `workers`, `pool`: starts worker processes, keeps them alive, and gives them requests from a queue
- `reloading`: loads the models, at the start and again on demand
- `parameters`, `bodies`, `receiving`: the parameters of requests, and how they are received
- `hosts`: allowed host names and origins
- `accepting`, `connections`: the number of connections, and clients that send or read too slowly
- `monitoring`: the log and metrics
- `app`: paths and error responses
- `systemd`: sockets passed by a service manager, and notifications to it
- `library`: the HTTP server of uvicorn within these limits
- `run`: sockets, signals, and shutdown
"""
