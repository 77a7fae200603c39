"""From open shapes and run-time parameters to a module whose every size is known."""
