"""Deciding: which type each value gets, by a recipe and by what was seen of it."""
