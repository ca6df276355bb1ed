"""Random draws of a graph: replaced by constants, or seeded by ONNX Runtime's `set_seed`."""
