"""The table of kinds: a row each."""

from tests.fuzz.arrays import ARRAYS
from tests.fuzz.configuration import CONFIGURATION
from tests.fuzz.frame import Kind
from tests.fuzz.onnx_models import ONNX
from tests.fuzz.profile import PROFILE
from tests.fuzz.recipe import RECIPE
from tests.fuzz.text import TEXT
from tests.fuzz.weights import CONSTANTS, MACHINE_CODE, WEIGHTS

KINDS: tuple[Kind, ...] = (ARRAYS, CONFIGURATION, CONSTANTS, MACHINE_CODE, ONNX, PROFILE, RECIPE, TEXT, WEIGHTS)
