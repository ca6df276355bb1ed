"""How fast the page follows runs and answers, in Chromium or in a kernel without a browser."""
