"""What a model is (`inspecting`), and why a node of it is what it is (`explaining`); both as data, and as text."""
