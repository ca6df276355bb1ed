"""RMSNorm and gates as modules of PyTorch and transformers are exported become our kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb

WIDTH = 8


@pytest.mark.sweep
def test_normalizations_of_modules_become_kernels(tmp_path: Path) -> None:
    import torch
    from torch import nn
    from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    normalizations = [
        nn.RMSNorm(WIDTH),
        nn.RMSNorm(WIDTH, eps=1e-3, elementwise_affine=False),
        nn.RMSNorm((4, WIDTH)),
        LlamaRMSNorm(WIDTH),
        T5LayerNorm(WIDTH),
        GemmaRMSNorm(WIDTH),
    ]

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(WIDTH, WIDTH)
            self.normalizations = nn.ModuleList(normalizations)
            self.mlp = LlamaMLP(
                LlamaConfig(hidden_size=WIDTH, intermediate_size=12, num_attention_heads=2)
            )
            self.last = nn.Linear(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x)
            for normalization in self.normalizations:
                x = x + normalization(x)
            return nn.functional.silu(self.last(self.mlp(x)))

    example = np.zeros((2, 4, WIDTH), np.float32)
    model = wb.load_model(Network(), example_inputs=(example,))
    made = wb.generate_artifacts(model, loss="mse", directory=tmp_path / "artifacts")
    kernels = made.manifest["device_kernels"]
    # What is computed again in the backward pass counts twice.
    assert kernels["RMSNormalizationGradient"] == len(normalizations)
    assert kernels["GatedSiluGradient"] == 1
    assert kernels["BiasSiluGradient"] == 1, kernels
