"""The rounds of a comparison: steps that engines took in turn, and what they say of them."""
