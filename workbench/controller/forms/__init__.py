"""The fields of the page's forms, and what is typed into them."""
