"""What the tests here share."""

from tests.exports import translations  # noqa: F401
