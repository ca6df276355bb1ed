"""Models of the transformers library, small and randomly initialised, with inputs for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import transformers
from torch import nn

from tests.whole_models.case import Case

BATCH, LENGTH, VOCABULARY = 3, 10, 60
LARGE_WEIGHTS = 0.1
"""Standard deviation of the first weights of deep convolutional models. With the 0.02 that is their
default, batch normalization of values near zero amplifies rounding: PyTorch's own float32 gradients
are 0.085 (MobileNetV2) and 0.0013 (MobileViT) from those in float64, measured as `verify` does."""

TEXT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 32,
}
DECODER: dict[str, Any] = {**TEXT, "num_key_value_heads": 2, "use_cache": False}


def tokens(length: int = LENGTH) -> np.ndarray:
    return np.random.default_rng(0).integers(3, VOCABULARY, (BATCH, length))


def attended() -> np.ndarray:
    """A mask under which the last rows end early."""
    return np.array([[1] * LENGTH, [1] * 7 + [0] * 3, [1] * 5 + [0] * 5])


def image(size: int = 32) -> dict[str, np.ndarray]:
    pixels = np.random.default_rng(0).normal(size=(BATCH, 3, size, size))
    return {"pixel_values": pixels.astype(np.float32)}


def without_dropout(config: transformers.PretrainedConfig) -> transformers.PretrainedConfig:
    """Every probability of a dropout in `config` set to zero, so that two runs compare."""
    for name in config.to_dict():
        if "drop" in name and isinstance(getattr(config, name), float):
            setattr(config, name, 0.0)
    return config


def case(
    model: type[nn.Module],
    config: transformers.PretrainedConfig,
    inputs: dict[str, np.ndarray],
    loss: str = "cross_entropy",
) -> Case:
    """A case whose module is `model` of `config`; the loss sees the first output."""
    return Case(lambda: model(without_dropout(config)), inputs, loss)


def bert() -> Case:
    config = transformers.BertConfig(**TEXT, num_labels=3)
    inputs = {"input_ids": tokens(), "attention_mask": attended()}
    return case(transformers.BertForSequenceClassification, config, inputs)


def roberta() -> Case:
    config = transformers.RobertaConfig(**TEXT, num_labels=3)
    inputs = {"input_ids": tokens(), "attention_mask": attended()}
    return case(transformers.RobertaForSequenceClassification, config, inputs)


def distilbert() -> Case:
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=48,
        max_position_embeddings=32,
        num_labels=3,
    )
    inputs = {"input_ids": tokens(), "attention_mask": attended()}
    return case(transformers.DistilBertForSequenceClassification, config, inputs)


def gpt2() -> Case:
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=32,
        use_cache=False,
        bos_token_id=1,
        eos_token_id=2,
    )
    return case(transformers.GPT2LMHeadModel, config, {"input_ids": tokens()})


def llama() -> Case:
    config = transformers.LlamaConfig(**DECODER)
    return case(transformers.LlamaForCausalLM, config, {"input_ids": tokens()})


def qwen2() -> Case:
    config = transformers.Qwen2Config(**DECODER)
    return case(transformers.Qwen2ForCausalLM, config, {"input_ids": tokens()})


def t5() -> Case:
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        use_cache=False,
        decoder_start_token_id=0,
    )
    inputs = {"input_ids": tokens(), "decoder_input_ids": tokens(6)}
    return case(transformers.T5ForConditionalGeneration, config, inputs)


def vit() -> Case:
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        num_labels=3,
    )
    return case(transformers.ViTForImageClassification, config, image())


def swin() -> Case:
    config = transformers.SwinConfig(
        image_size=32,
        patch_size=4,
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=4,
        num_labels=3,
    )
    return case(transformers.SwinForImageClassification, config, image())


def convnext() -> Case:
    config = transformers.ConvNextConfig(
        hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], image_size=64, num_labels=3
    )
    return case(transformers.ConvNextForImageClassification, config, image(64))


def resnet() -> Case:
    config = transformers.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        num_labels=3,
    )
    return case(transformers.ResNetForImageClassification, config, image(64))


def mobilenet_v2() -> Case:
    config = transformers.MobileNetV2Config(
        depth_multiplier=0.35,
        image_size=64,
        min_depth=8,
        num_labels=3,
        classifier_dropout_prob=0.0,
        initializer_range=LARGE_WEIGHTS,
    )
    return case(transformers.MobileNetV2ForImageClassification, config, image(64))


def mobilevit() -> Case:
    config = transformers.MobileViTConfig(
        image_size=64,
        hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 48],
        num_attention_heads=2,
        num_labels=3,
        initializer_range=LARGE_WEIGHTS,
    )
    return case(transformers.MobileViTForImageClassification, config, image(64))


def efficientnet() -> Case:
    config = transformers.EfficientNetConfig(
        image_size=64, width_coefficient=0.2, depth_coefficient=0.3, hidden_dim=256, num_labels=3
    )
    return case(transformers.EfficientNetForImageClassification, config, image(64))


def efficientnet_pooled_wide() -> Case:
    """Pools its last 2 x 2 pixels by a window of 2,560."""
    config = transformers.EfficientNetConfig(image_size=64, depth_coefficient=0.2, num_labels=3)
    return case(transformers.EfficientNetForImageClassification, config, image(64))


def mixtral() -> Case:
    """Its cache, which is among the results, holds the window as a constant tensor."""
    config = transformers.MixtralConfig(
        **{**DECODER, "num_hidden_layers": 1},
        num_local_experts=8,
        num_experts_per_tok=3,
        sliding_window=5,
    )
    return case(transformers.MixtralForCausalLM, config, {"input_ids": tokens()})


def bloom() -> Case:
    """Its GELU is an autograd function with a backward of its own."""
    config = transformers.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=32, n_layer=1, n_head=4, use_cache=False
    )
    return case(transformers.BloomForCausalLM, config, {"input_ids": tokens()})


def wav2vec2() -> Case:
    config = transformers.Wav2Vec2Config(
        vocab_size=20,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        conv_dim=[16, 16, 16],
        conv_stride=[5, 2, 2],
        conv_kernel=[10, 3, 3],
        num_feat_extract_layers=3,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        mask_time_prob=0.0,
        layerdrop=0.0,
        num_labels=3,
        classifier_proj_size=16,
    )
    wave = np.random.default_rng(0).normal(size=(BATCH, 800)).astype(np.float32)
    return case(transformers.Wav2Vec2ForSequenceClassification, config, {"input_values": wave})


def whisper() -> Case:
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_mel_bins=16,
        max_source_positions=20,
        max_target_positions=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    features = np.random.default_rng(0).normal(size=(BATCH, 16, 40)).astype(np.float32)
    inputs = {"input_features": features, "decoder_input_ids": tokens(6)}
    return case(transformers.WhisperForConditionalGeneration, config, inputs)
