"""Why a node cannot be trained through: its operator, its element type, or a known error."""
