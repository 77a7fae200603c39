"""The native functions of qmlir: tables by subject, one row per function."""
