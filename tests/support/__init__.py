"""What the tests share: running RUN lines in-process."""
