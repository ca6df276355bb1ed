"""Whole models in plain torch, of the kinds that people bring."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.whole_models.case import Case

BATCH = 3


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(BATCH, *shape)).astype(np.float32)


class UNet(nn.Module):
    """Down twice, and up again: once by a transposed convolution, once by interpolation."""

    def __init__(self) -> None:
        super().__init__()
        self.down1 = self.block(3, 8)
        self.down2 = self.block(8, 16)
        self.bottom = self.block(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.middle = self.block(32, 16)
        self.narrow = nn.Conv2d(16, 8, 1)
        self.top = self.block(16, 8)
        self.head = nn.Conv2d(8, 4, 1)

    @staticmethod
    def block(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        first = self.down1(x)
        second = self.down2(functional.max_pool2d(first, 2))
        bottom = self.bottom(functional.max_pool2d(second, 2))
        middle = self.middle(torch.cat([self.up(bottom), second], dim=1))
        wide = functional.interpolate(middle, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.top(torch.cat([self.narrow(wide), first], dim=1)))


class InvertedResidual(nn.Module):
    """The block of MobileNetV3: expansion, depthwise convolution, squeeze and excitation."""

    def __init__(self, channels: int, expanded: int) -> None:
        super().__init__()
        self.expand = nn.Sequential(
            nn.Conv2d(channels, expanded, 1, bias=False), nn.BatchNorm2d(expanded), nn.Hardswish()
        )
        self.depthwise = nn.Sequential(
            nn.Conv2d(expanded, expanded, 5, padding=2, groups=expanded, bias=False),
            nn.BatchNorm2d(expanded),
            nn.Hardswish(),
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(expanded, 8, 1),
            nn.ReLU(),
            nn.Conv2d(8, expanded, 1),
            nn.Hardsigmoid(),
        )
        self.project = nn.Sequential(
            nn.Conv2d(expanded, channels, 1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        wide = self.depthwise(self.expand(x))
        return x + self.project(wide * self.squeeze(wide))


def mobilenet_v3() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.Hardswish(),
        InvertedResidual(8, 24),
        InvertedResidual(8, 16),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


class VAE(nn.Module):
    """A variational autoencoder; the noise that its sampling takes comes in as an input."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(20, 16), nn.Tanh())
        self.mean = nn.Linear(16, 4)
        self.log_variance = nn.Linear(16, 4)
        self.decode = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 20))

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        hidden = self.encode(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        return self.decode(mean + noise * torch.exp(0.5 * log_variance))


class Tagger(nn.Module):
    """A label for each token, by a bidirectional LSTM of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(40, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 10, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(20, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0])


class MixerBlock(nn.Module):
    """Mixes along the patches, then along the channels."""

    def __init__(self, patches: int, channels: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.along_patches = nn.Sequential(
            nn.Linear(patches, 24), nn.GELU(), nn.Linear(24, patches)
        )
        self.norm2 = nn.LayerNorm(channels)
        self.along_channels = nn.Sequential(
            nn.Linear(channels, 32), nn.GELU(), nn.Linear(32, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.along_patches(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along_channels(self.norm2(x))


class Mixer(nn.Module):
    """An MLP-Mixer over 16 patches."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.blocks = nn.Sequential(MixerBlock(16, 16), MixerBlock(16, 16))
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(patches)).mean(dim=1))


def unet() -> Case:
    return Case(UNet, {"x": normal(3, 16, 16)}, "mse")


def mobilenet_v3_blocks() -> Case:
    return Case(mobilenet_v3, {"input": normal(3, 16, 16)})


def vae() -> Case:
    return Case(VAE, {"x": normal(20), "noise": normal(4)}, "mse")


def tagger() -> Case:
    tokens = np.random.default_rng(0).integers(0, 40, (BATCH, 8))
    return Case(Tagger, {"tokens": tokens})


def mlp_mixer() -> Case:
    return Case(Mixer, {"x": normal(3, 16, 16)})
