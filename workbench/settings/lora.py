"""Settings of low-rank adaptation (LoRA)."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from workbench.settings.plain_numbers import PlainNumbers


class LoraOptions(PlainNumbers):
    """Low-rank adaptation: a linear layer computes x Wᵀ + alpha / rank · (x Aᵀ) Bᵀ.

    A, (rank, inputs), and B, (outputs, rank), are trained; the layer's weight W is frozen unless
    `requires_grad` names it. Initial values are those of the paper as PEFT has them: A from a
    uniform distribution, B zero. Source: Hu et al., LoRA, arXiv:2106.09685; PEFT's `LoraConfig`,
    whose defaults these are, without dropout.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(default=8, ge=1, description="columns of B and rows of A", examples=[4])
    alpha: float = Field(
        default=8.0, gt=0, allow_inf_nan=False, description="the product is scaled by alpha / rank"
    )
    targets: tuple[str, ...] = Field(
        default=("*",),
        min_length=1,
        description="names or fnmatch patterns of weights; those of linear layers are adapted",
        examples=[("head.*",)],
    )
    seed: int = Field(default=0, ge=0, lt=2**32, description="random seed of the initial A")

    @property
    def scale(self) -> float:
        """alpha / rank."""
        return self.alpha / self.rank
