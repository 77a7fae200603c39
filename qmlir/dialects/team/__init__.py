"""The `team` dialect: explicit work sharing among threads, so that it does not depend on the emitter."""
