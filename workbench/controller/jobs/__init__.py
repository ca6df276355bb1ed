"""Jobs (training and comparisons): started, followed, and offered again."""
