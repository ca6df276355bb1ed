"""What on-device training checks before it starts, and keeps beside the weights."""
