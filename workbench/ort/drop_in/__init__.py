"""The names of onnxruntime-training for scripts that were written for its own front end."""
