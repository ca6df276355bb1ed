"""The run folder: the only interface between a worker and its clients.

It reads and writes the files of one run, and imports neither torch nor onnxruntime.
"""
