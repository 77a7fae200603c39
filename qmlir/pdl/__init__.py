"""Patterns as text: PDL files, matched and rewritten here, with functions in Python that a pattern calls by name."""
