"""Deciding: which type each value gets, by a recipe and by its recorded statistics."""
