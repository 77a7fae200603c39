"""The core subcommands of `qmlir`, one file each, imported when they are called (`commands` of a contribution)."""
