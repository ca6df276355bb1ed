"""Models of transformers at small size, as factories: a module and its example inputs."""

from __future__ import annotations

from typing import Any

import torch

BATCH = 8


def _tokens(vocabulary: int, length: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, (BATCH, length))


def bert() -> tuple[torch.nn.Module, Any]:
    """Four layers of width 256, sequences of 128 tokens; logits of every token."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=2000,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForMaskedLM(config), {"input_ids": _tokens(2000, 128)}


def gpt2() -> tuple[torch.nn.Module, Any]:
    """Four layers of width 256, sequences of 128 tokens; logits of every token."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=2000,
        n_embd=256,
        n_layer=4,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
    )
    return GPT2LMHeadModel(config), {"input_ids": _tokens(2000, 128)}


def vit() -> tuple[torch.nn.Module, Any]:
    """Four layers of width 192 on 64 x 64 images in patches of 8; ten classes."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=3,
        intermediate_size=768,
        image_size=64,
        patch_size=8,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=10,
    )
    return ViTForImageClassification(config), {"pixel_values": torch.randn(BATCH, 3, 64, 64)}


def resnet() -> tuple[torch.nn.Module, Any]:
    """Basic blocks of 32 to 256 channels on 64 x 64 images; ten classes."""
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=32,
        hidden_sizes=[32, 64, 128, 256],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        num_labels=10,
    )
    return ResNetForImageClassification(config), {"pixel_values": torch.randn(BATCH, 3, 64, 64)}
