"""Groups of operations that are the parts of a composite, and the composite that can take their place."""
