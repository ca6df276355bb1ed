"""The machine: its description, its cores, and the load of other programs.

It reads what the system tells, by psutil; neither torch nor onnxruntime is imported.
"""
