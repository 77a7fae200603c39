"""The `team` dialect: explicit work sharing among threads, independent of the emitter."""
