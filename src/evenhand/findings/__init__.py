"""What is true of a mapping or a problem, found from plain arrays; whoever says it words it the same way."""
