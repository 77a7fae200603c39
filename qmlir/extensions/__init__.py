"""Parts that the core works without. Nothing outside imports them: the registry finds each by its contribution."""

# The registry imports every extension, and each of them imports the registry, so the registry must come first.
from qmlir import registry as registry
