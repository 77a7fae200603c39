"""The subcommands of `qmlir`, one file each: a `COMMAND` that `qmlir.tools.qmlir_cli` has a row for."""
