"""`workbench.ort.install()`: onnxruntime.training's names for the workbench's ORTModule and
optimizers, so that scripts written for that package run unchanged."""
