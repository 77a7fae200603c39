"""What patterns can ask and make: tables of functions by subject, one row one function."""
