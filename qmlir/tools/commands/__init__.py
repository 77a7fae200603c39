"""The subcommands of `qmlir` in the core, one file each, loaded when they are called (`commands` of a contribution)."""
