"""The step Artifacts: what is trained of a model, and what that takes."""
