"""The one room that knows the internals of onnxruntime.training."""
