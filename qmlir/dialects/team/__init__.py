"""The `team` dialect: what the threads of a team do together, said in the IR so that no emitter decides it."""
