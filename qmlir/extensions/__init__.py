"""Parts that the core works without. Nothing outside imports them: the registry finds each by its contribution."""
