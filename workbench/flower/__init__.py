"""The processes of federated training: Flower's server, and the clients that it reaches.

`python -m workbench.flower RUN_FOLDER` is the worker of a federated run. It runs a strategy of
Flower over client processes of this machine. This is the only subpackage that imports flwr, and
the first to do so in its processes but those that Flower's own commands start.
"""

import os

# Said before Flower is imported, which reads it then: it reports nothing to its makers.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
