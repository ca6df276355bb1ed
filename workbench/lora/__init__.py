"""Low-rank adaptation (LoRA): its weights, in a graph, in a module, and as a file.

torch and onnx are imported on use.
"""
