"""The step Artifacts: choice of parameters, artifacts, predicted memory."""
