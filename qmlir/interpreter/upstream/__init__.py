"""What the operations of upstream's dialects compute: one table a dialect."""
