"""The table of kinds: a row each."""

from tests.fuzz.frame import Kind
from tests.fuzz.recipe import RECIPE
from tests.fuzz.text import TEXT

KINDS: tuple[Kind, ...] = (RECIPE, TEXT)
