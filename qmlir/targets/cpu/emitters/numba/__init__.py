"""Modules of loops as typed Python source, and the runtime that this source imports."""
