"""The Runs step: recorded runs, their details and worst rows, and the actions on them."""
