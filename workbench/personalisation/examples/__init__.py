"""The examples of a user: drawings, recordings and photographs, and their file."""
