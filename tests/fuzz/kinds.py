"""The table of kinds: a row each."""

from tests.fuzz.frame import Kind
from tests.fuzz.recipe import RECIPE

KINDS: tuple[Kind, ...] = (RECIPE,)
