"""Work on threads of its own: loading models, reading graphs, predictions and tasks."""
