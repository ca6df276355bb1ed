"""Convolutions, transposed convolutions, up-sampling, pixel shuffling and padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.nn import functional

from tests.coverage.case import Case, normal, of, through

LINE = (normal((4, 12)), normal((4, 9)))
IMAGE = (normal((4, 7, 8)), normal((4, 10, 6)))
VOLUME = (normal((4, 5, 6, 4)), normal((4, 4, 4, 5)))
INPUTS = {1: LINE, 2: IMAGE, 3: VOLUME}
CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def layer(kind: Callable[..., nn.Module], *args: Any, **settings: Any) -> Callable[[], nn.Module]:
    return lambda: kind(*args, **settings)


def each_rank(
    name: str,
    kinds: dict[int, Any],
    *args: Any,
    ranks: tuple[int, ...] = (1, 2, 3),
    **settings: Any,
) -> tuple[Case, ...]:
    return tuple(
        through(
            f"{kinds[rank].__name__}{name}", layer(kinds[rank], *args, **settings), *INPUTS[rank]
        )
        for rank in ranks
    )


def upsampled(name: str, **settings: Any) -> Case:
    return of(name, lambda x: functional.interpolate(x, **settings), *IMAGE)


def padded(name: str, widths: tuple[int, ...], **settings: Any) -> Case:
    inputs = {2: LINE, 4: IMAGE, 6: VOLUME}[len(widths)]
    return of(name, lambda x: functional.pad(x, widths, **settings), *inputs)


CASES: tuple[Case, ...] = (
    *each_rank("", CONVOLUTIONS, 4, 6, 3),
    *each_rank(", stride 2, padding 1", CONVOLUTIONS, 4, 6, 3, stride=2, padding=1),
    *each_rank(", no bias, kernel 1", CONVOLUTIONS, 4, 6, 1, bias=False),
    *each_rank(", grouped", CONVOLUTIONS, 4, 6, 3, padding=1, groups=2),
    *each_rank(", depthwise", CONVOLUTIONS, 4, 4, 3, padding=1, groups=4),
    *each_rank(", depthwise, twice the channels", CONVOLUTIONS, 4, 8, 3, groups=4, ranks=(1, 2)),
    *each_rank(", dilated", CONVOLUTIONS, 4, 6, 2, dilation=2),
    through(
        "Conv2d, asymmetric kernel, stride, padding, dilation",
        layer(nn.Conv2d, 4, 6, (3, 2), stride=(2, 1), padding=(2, 1), dilation=(1, 2)),
        *IMAGE,
    ),
    through(
        "Conv2d, asymmetric padding",
        lambda: nn.Sequential(nn.ZeroPad2d((1, 0, 2, 1)), nn.Conv2d(4, 6, 3)),
        *IMAGE,
    ),
    *each_rank(", padding same", CONVOLUTIONS, 4, 6, 3, padding="same"),
    *each_rank(", padding same, even kernel", CONVOLUTIONS, 4, 6, 4, padding="same", ranks=(1, 2)),
    *each_rank(", padding valid", CONVOLUTIONS, 4, 6, 3, padding="valid", ranks=(1, 2)),
    *(
        case
        for mode in ("reflect", "replicate", "circular")
        for case in each_rank(
            f", padding_mode {mode}", CONVOLUTIONS, 4, 6, 3, padding=1, padding_mode=mode,
            ranks=(1, 2),
        )
    ),
    *each_rank("", TRANSPOSED, 4, 6, 3),
    *each_rank(", stride 2", TRANSPOSED, 4, 6, 2, stride=2),
    *each_rank(
        ", stride, padding, output_padding", TRANSPOSED, 4, 6, 3, stride=2, padding=1,
        output_padding=1,
    ),
    *each_rank(", grouped", TRANSPOSED, 4, 6, 3, stride=2, groups=2),
    *each_rank(", depthwise, no bias", TRANSPOSED, 4, 4, 3, groups=4, bias=False, ranks=(1, 2)),
    *each_rank(", dilated", TRANSPOSED, 4, 6, 3, dilation=2, padding=1),
    upsampled("interpolate nearest", scale_factor=2, mode="nearest"),
    upsampled("interpolate nearest, to a size", size=(11, 5), mode="nearest"),
    upsampled("interpolate nearest, by 1.5", scale_factor=1.5, mode="nearest"),
    upsampled("interpolate bilinear", scale_factor=2, mode="bilinear"),
    upsampled("interpolate bilinear, corners", scale_factor=2, mode="bilinear", align_corners=True),
    upsampled("interpolate bilinear, to a smaller size", size=(5, 3), mode="bilinear"),
    upsampled("interpolate bicubic", scale_factor=2, mode="bicubic"),
    upsampled("interpolate bicubic, corners", size=(9, 13), mode="bicubic", align_corners=True),
    of("interpolate nearest, 1D", lambda x: functional.interpolate(x, scale_factor=3), *LINE),
    of(
        "interpolate linear, 1D",
        lambda x: functional.interpolate(x, scale_factor=2, mode="linear"),
        *LINE,
    ),
    of("interpolate nearest, 3D", lambda x: functional.interpolate(x, scale_factor=2), *VOLUME),
    of(
        "interpolate trilinear, 3D",
        lambda x: functional.interpolate(x, scale_factor=2, mode="trilinear"),
        *VOLUME,
    ),
    through("Upsample", layer(nn.Upsample, scale_factor=2), *IMAGE),
    through("UpsamplingBilinear2d", layer(nn.UpsamplingBilinear2d, scale_factor=2), *IMAGE),
    through("PixelShuffle", layer(nn.PixelShuffle, 2), normal((8, 3, 4)), normal((4, 5, 2))),
    through("PixelUnshuffle", layer(nn.PixelUnshuffle, 2), normal((2, 6, 4)), normal((3, 2, 8))),
    through("ChannelShuffle", layer(nn.ChannelShuffle, 2), normal((4, 5, 6))),
    padded("pad constant", (1, 2, 0, 3)),
    padded("pad constant, a value", (1, 2), value=0.7),
    padded("pad constant, negative", (-1, 2, 1, -2)),
    padded("pad reflect", (1, 2, 2, 1), mode="reflect"),
    padded("pad reflect, 1D", (2, 3), mode="reflect"),
    padded("pad replicate", (1, 2, 2, 1), mode="replicate"),
    padded("pad replicate, 1D", (2, 3), mode="replicate"),
    padded("pad replicate, 3D", (1, 2, 1, 1, 2, 0), mode="replicate"),
    padded("pad circular", (1, 2, 2, 1), mode="circular"),
    through("ZeroPad2d", layer(nn.ZeroPad2d, (1, 2, 0, 1)), *IMAGE),
    through("ReflectionPad2d", layer(nn.ReflectionPad2d, 2), *IMAGE),
    through("ReplicationPad2d", layer(nn.ReplicationPad2d, 2), *IMAGE),
    through("Unfold", layer(nn.Unfold, 3, padding=1), *IMAGE),
    through("Fold", layer(nn.Fold, (6, 5), 2), normal((8, 20))),
)  # fmt: skip
