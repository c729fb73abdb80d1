"""Reference derivatives: a Program in ball arithmetic, which encloses its value and its derivatives of any order."""
