"""The processes of federated training: Flower's server, and the clients that it reaches.

`python -m workbench.flower RUN_FOLDER` is the worker of a federated run. It runs a strategy of
Flower over client processes of this machine. This is the only subpackage that imports flwr.
"""
