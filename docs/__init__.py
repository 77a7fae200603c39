"""The documents, and the generator of their reference pages."""
