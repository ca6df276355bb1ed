"""The machine: its description, its cores, and the load of other programs.

It reads the system's data, by psutil; neither torch nor onnxruntime is imported.
"""
