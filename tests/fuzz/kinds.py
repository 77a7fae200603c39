"""The table of kinds: a row each."""

from tests.fuzz.arrays import ARRAYS
from tests.fuzz.configuration import CONFIGURATION
from tests.fuzz.frame import Kind
from tests.fuzz.hostile import HOSTILE
from tests.fuzz.images import IMAGE
from tests.fuzz.json_files import JSON_FILES
from tests.fuzz.metadata import METADATA
from tests.fuzz.onnx_models import ONNX
from tests.fuzz.parts import ANSWER, CHECKPOINT, PARTS
from tests.fuzz.profile import PROFILE
from tests.fuzz.recipe import RECIPE
from tests.fuzz.text import DOCUMENT, PATTERNS, TEXT
from tests.fuzz.weights import CONSTANTS, MACHINE_CODE, WEIGHTS

KINDS: tuple[Kind, ...] = (
    ARRAYS, CONFIGURATION, CONSTANTS, MACHINE_CODE, ONNX, PROFILE, RECIPE, TEXT, WEIGHTS, *JSON_FILES,
    ANSWER, CHECKPOINT, DOCUMENT, HOSTILE, IMAGE, METADATA, PARTS, PATTERNS,
)  # fmt: skip
