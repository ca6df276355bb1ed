"""The machine: what it is, its cores, and what other programs take of them."""
