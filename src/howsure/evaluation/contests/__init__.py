"""Two or more systems' labels on the same items: differences, tests, power, and their result."""
