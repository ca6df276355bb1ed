"""The second phase of the pretraining that `text_bert` begins: the same module, longer windows."""

from __future__ import annotations

from sample_models.text_bert import LONG, build, masked_sample

__all__ = ["SAMPLE", "build"]

SAMPLE = masked_sample(
    "text-bert-512",
    LONG,
    "The second phase of that pretraining, on sequences four times as long, where attention "
    "weighs more. It is the module of text-bert, to begin with whose weights: "
    "load_model('text-bert-512', weights=run.checkpoint / 'weights.safetensors'). "
    "From there, two passes bring the test loss from 2.90 to 2.67 nats and fill in 32 %.",
    learning_rate=1e-3,
    batch_size=8,
    epochs=2,
)
