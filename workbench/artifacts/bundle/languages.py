"""The programs of a bundle, one a binding of ONNX Runtime's training API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_ONNX = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "FLOAT16",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "bool": "BOOL",
}
_OBJECTIVE_C = {
    "float32": "Float",
    "int8": "Int8",
    "uint8": "UInt8",
    "int32": "Int32",
    "int64": "Int64",
}


class Language(NamedTuple):
    """One program."""

    name: str
    file: str
    """Path in the bundle."""
    template: str
    dtypes: Mapping[str, str]
    """The element types that the binding supports, by numpy's name."""
    package: str
    """Libraries and headers to link, and the version of the language."""
    parameters: str
    """How the binding reads a parameter by its name."""
    checked: str
    """How the tests of this version check the program, in one sentence."""


RUN = "compiled and run"
DECLARED = "type-checked against declarations of the API in the tests, not run"
PARSED = "parsed, neither compiled nor run"

LANGUAGES = (
    Language(
        "Python",
        "python/train.py",
        "train.py.jinja",
        {name: name for name in _ONNX},
        "onnxruntime-training-cpu 1.19.2 (PyPI); torch is not needed",
        "state.parameters[name].data",
        "run with onnxruntime-training-cpu 1.19.2",
    ),
    Language(
        "C++",
        "cpp/train.cpp",
        "train.cpp.jinja",
        {dtype: f"ONNX_TENSOR_ELEMENT_DATA_TYPE_{name}" for dtype, name in _ONNX.items()},
        "libonnxruntime and the headers of a training build 1.19.2, C++17",
        "state.GetParameter(name)",
        f"{RUN} with g++ on onnxruntime-training-cpu 1.19.2 for Linux, with declarations of the "
        "API in the tests instead of its own headers",
    ),
    Language(
        "C",
        "c/train.c",
        "train.c.jinja",
        {dtype: f"ONNX_TENSOR_ELEMENT_DATA_TYPE_{name}" for dtype, name in _ONNX.items()},
        "libonnxruntime and the headers of a training build 1.19.2, C11",
        "GetParameter(state, name, allocator, &value)",
        f"{RUN} with gcc on onnxruntime-training-cpu 1.19.2 for Linux, with declarations of the "
        "API in the tests instead of its own headers",
    ),
    Language(
        "C#",
        "csharp/Program.cs",
        "Program.cs.jinja",
        {
            "float32": "float",
            "float64": "double",
            "int8": "sbyte",
            "int16": "short",
            "int32": "int",
            "int64": "long",
            "uint8": "byte",
            "bool": "bool",
        },
        "Microsoft.ML.OnnxRuntime.Training 1.19.2 (NuGet)",
        "state.GetParameter(name)",
        DECLARED,
    ),
    Language(
        "Java",
        "java/Train.java",
        "Train.java.jinja",
        {dtype: name for dtype, name in _ONNX.items() if dtype != "float16"},
        "com.microsoft.onnxruntime:onnxruntime-training-android 1.19.2 (Maven)",
        "",
        DECLARED,
    ),
    Language(
        "Kotlin",
        "kotlin/Train.kt",
        "Train.kt.jinja",
        {dtype: name for dtype, name in _ONNX.items() if dtype != "float16"},
        "com.microsoft.onnxruntime:onnxruntime-training-android 1.19.2 (Maven)",
        "",
        DECLARED,
    ),
    Language(
        "Swift",
        "swift/Train.swift",
        "Train.swift.jinja",
        {dtype: name[0].lower() + name[1:] for dtype, name in _OBJECTIVE_C.items()}
        | {"uint8": "uInt8"},
        "onnxruntime-training-objc 1.19.2 (CocoaPods)",
        "",
        PARSED,
    ),
    Language(
        "Objective-C",
        "objective-c/train.m",
        "train.m.jinja",
        {dtype: f"ORTTensorElementDataType{name}" for dtype, name in _OBJECTIVE_C.items()},
        "onnxruntime-training-objc 1.19.2 (CocoaPods)",
        "",
        DECLARED,
    ),
)
