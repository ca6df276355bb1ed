"""ONNX Runtime's on-device training: its classes, checkpoint, optimizers and profile."""
