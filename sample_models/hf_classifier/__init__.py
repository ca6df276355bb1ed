"""Code, comments and docstrings of Python's library, and a transformers model as classifier."""

from __future__ import annotations

import ast
import importlib.util
import io
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sample_models.sample import Sample
from sample_models.text_bert import VOCABULARY
from sample_models.text_gpt import CHARACTERS, encode
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset, Split

PACKAGES = ("asyncio", "email", "importlib", "logging", "multiprocessing", "unittest", "xml")
"""Packages of Python's library whose files are read."""

KINDS = ("code", "comment", "docstring")
"""The classes."""

LENGTH = 128
"""Characters that the model sees."""

MOST_WINDOWS = 16
"""Taken of each kind from one file, so that code does not outnumber the others."""


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def configuration() -> dict[str, Any]:
    """Settings of `transformers.BertConfig`: two layers of width 128, no dropout."""
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 512,
        "max_position_embeddings": LENGTH,
        "type_vocab_size": 1,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "num_labels": len(KINDS),
        "pad_token_id": CHARACTERS.index(" "),
    }


def build() -> torch.nn.Module:
    """transformers' BertForSequenceClassification; its first output is the logits.

    Raises:
        ModelError: transformers is not installed.
    """
    from workbench.errors import ModelError

    if importlib.util.find_spec("transformers") is None:
        raise ModelError(
            "The sample 'hf-classifier' is a model of transformers, which is not installed. "
            "To fix it: pip install 'onnxruntime-training-workbench[hf]'"
        )
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(BertConfig(**configuration()))


def load_sources(test_fraction: float, seed: int) -> Dataset:
    """Windows of 128 characters, int64: code, comments or docstrings, which the target tells.

    The comments of a file are joined, and so are its docstrings; code is without either. Whole
    files are drawn for the test.

    Source: the library of the running Python.
    """
    from workbench.data import Dataset
    from workbench.data.rows import held_out_count

    files = [path for name in PACKAGES for path in _files(name)]
    order = np.random.default_rng(seed).permutation(len(files))
    held_out = set(order[: held_out_count(len(files), test_fraction)].tolist())
    train = _windows([path for index, path in enumerate(files) if index not in held_out])
    test = _windows([files[index] for index in sorted(held_out)]) if held_out else None
    return Dataset("python-sources", train, test, KINDS, tuple(CHARACTERS))


def _files(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return sorted(Path(spec.submodule_search_locations[0]).glob("*.py"))


def _windows(files: list[Path]) -> Split:
    from workbench.data import Split

    inputs, target = [], []
    for path in files:
        source = path.read_text(encoding="utf-8")
        for label, text in enumerate((_code(source), _comments(source), _docstrings(source))):
            numbers = encode(text)
            count = min(len(numbers) // LENGTH, MOST_WINDOWS)
            inputs.append(numbers[: count * LENGTH].reshape(count, LENGTH))
            target += [label] * count
    return Split([np.concatenate(inputs)], np.array(target))


def _code(source: str) -> str:
    """The source without its comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _comments(source: str) -> str:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return "\n".join(text.lstrip("#: ") for text in found)


def _docstrings(source: str) -> str:
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, _DOCUMENTED)]
    return "\n".join(ast.get_docstring(node) or "" for node in nodes)


SAMPLE = Sample(
    name="hf-classifier",
    card=(
        "Distinguishes code, comments and docstrings of Python's library by 128 characters: "
        "BertForSequenceClassification of transformers (extra hf), two layers of width 128, "
        "442,627 parameters, no dropout. With its defaults, three passes in half a minute on two "
        "cores, it classifies 76 % of the test windows correctly, from files that are not in the "
        "training split; guessing would give 33 %."
    ),
    build=build,
    dataset_name="python-sources",
    dataset=load_sources,
    defaults={
        "loss": "cross_entropy",
        "optimizer": "adamw",
        "learning_rate": 3e-4,
        "batch_size": 16,
        "epochs": 3,
    },
    inputs=(TensorSpec("input_ids", ("batch", LENGTH), "int64"),),
    outputs=(TensorSpec("logits", ("batch", len(KINDS)), "float32"),),
)
