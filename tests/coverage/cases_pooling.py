"""Max, average and adaptive pooling."""

from __future__ import annotations

from torch import nn
from torch.nn import functional

from tests.coverage.case import Case, normal, of, through
from tests.coverage.cases_convolutions import IMAGE, LINE, VOLUME, layer

CASES: tuple[Case, ...] = (
    through("MaxPool1d", layer(nn.MaxPool1d, 3), *LINE),
    through("MaxPool1d, stride, padding", layer(nn.MaxPool1d, 3, stride=2, padding=1), *LINE),
    through("MaxPool2d", layer(nn.MaxPool2d, 2), *IMAGE),
    through("MaxPool2d, overlapping", layer(nn.MaxPool2d, 3, stride=1), *IMAGE),
    through("MaxPool2d, stride, padding", layer(nn.MaxPool2d, 3, stride=2, padding=1), *IMAGE),
    through("MaxPool2d, ceil_mode", layer(nn.MaxPool2d, 2, ceil_mode=True), *IMAGE),
    through("MaxPool2d, dilated", layer(nn.MaxPool2d, 2, stride=1, dilation=2), *IMAGE),
    through("MaxPool3d", layer(nn.MaxPool3d, 2), *VOLUME),
    through("AvgPool1d", layer(nn.AvgPool1d, 3), *LINE),
    through("AvgPool1d, stride, padding", layer(nn.AvgPool1d, 3, stride=2, padding=1), *LINE),
    through("AvgPool2d", layer(nn.AvgPool2d, 2), *IMAGE),
    through("AvgPool2d, stride, padding", layer(nn.AvgPool2d, 3, stride=2, padding=1), *IMAGE),
    through("AvgPool2d, ceil_mode", layer(nn.AvgPool2d, 2, ceil_mode=True), *IMAGE),
    through(
        "AvgPool2d, ceil_mode, padding",
        layer(nn.AvgPool2d, 3, stride=2, padding=1, ceil_mode=True),
        *IMAGE,
    ),
    through(
        "AvgPool2d, padding not counted",
        layer(nn.AvgPool2d, 3, stride=2, padding=1, count_include_pad=False),
        *IMAGE,
    ),
    through(
        "AvgPool2d, ceil_mode, padding not counted",
        layer(nn.AvgPool2d, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        *IMAGE,
    ),
    through("AvgPool2d, divisor", layer(nn.AvgPool2d, 2, divisor_override=3), *IMAGE),
    through(
        "AvgPool2d, ceil_mode, divisor",
        layer(nn.AvgPool2d, 3, 2, 1, True, divisor_override=2),
        *IMAGE,
    ),
    through("AvgPool2d, wider than the image", layer(nn.AvgPool2d, 2560, ceil_mode=True), *IMAGE),
    through(
        "AvgPool2d, wider than the image, divisor",
        layer(nn.AvgPool2d, (2, 900), 1000, (0, 1), True, divisor_override=7),
        *IMAGE,
    ),
    through("MaxPool2d, wider than the image", layer(nn.MaxPool2d, 900, ceil_mode=True), *IMAGE),
    through("AvgPool1d, ceil_mode", layer(nn.AvgPool1d, 4, 3, 1, ceil_mode=True), *LINE),
    through("AvgPool3d", layer(nn.AvgPool3d, 2), *VOLUME),
    through("AvgPool3d, ceil_mode", layer(nn.AvgPool3d, 2, ceil_mode=True), *VOLUME),
    through("AdaptiveAvgPool1d(3)", layer(nn.AdaptiveAvgPool1d, 3), *LINE),
    through("AdaptiveAvgPool1d, uneven", layer(nn.AdaptiveAvgPool1d, 5), *LINE),
    through("AdaptiveAvgPool2d(1)", layer(nn.AdaptiveAvgPool2d, 1), *IMAGE),
    through("AdaptiveAvgPool2d, even", layer(nn.AdaptiveAvgPool2d, (2, 4)), normal((4, 6, 8))),
    through("AdaptiveAvgPool2d, uneven", layer(nn.AdaptiveAvgPool2d, (3, 5)), *IMAGE),
    through("AdaptiveAvgPool2d, larger", layer(nn.AdaptiveAvgPool2d, (11, 13)), *IMAGE),
    through("AdaptiveAvgPool2d, one axis", layer(nn.AdaptiveAvgPool2d, (None, 3)), *IMAGE),
    through("AdaptiveAvgPool3d(1)", layer(nn.AdaptiveAvgPool3d, 1), *VOLUME),
    through("AdaptiveMaxPool1d(1)", layer(nn.AdaptiveMaxPool1d, 1), *LINE),
    through("AdaptiveMaxPool1d(3)", layer(nn.AdaptiveMaxPool1d, 3), *LINE),
    through("AdaptiveMaxPool1d, uneven", layer(nn.AdaptiveMaxPool1d, 5), *LINE),
    through("AdaptiveMaxPool3d, uneven", layer(nn.AdaptiveMaxPool3d, 3), *VOLUME),
    through("AdaptiveMaxPool2d(1)", layer(nn.AdaptiveMaxPool2d, 1), *IMAGE),
    through("AdaptiveMaxPool2d, even", layer(nn.AdaptiveMaxPool2d, (2, 4)), normal((4, 6, 8))),
    through("AdaptiveMaxPool2d, uneven", layer(nn.AdaptiveMaxPool2d, (3, 5)), *IMAGE),
    of("global average", lambda x: x.mean(dim=(2, 3)), *IMAGE),
    of("global maximum", lambda x: x.amax(dim=(2, 3)), *IMAGE),
    of("LPPool2d", lambda x: functional.lp_pool2d(x.abs() + 0.1, 2, 2), *IMAGE),
)
