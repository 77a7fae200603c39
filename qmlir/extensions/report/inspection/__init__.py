"""Descriptions of models (`inspecting`) and of the decisions about their nodes (`explaining`), as data and as text."""
