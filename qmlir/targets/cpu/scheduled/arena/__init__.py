"""The memory plan: how long buffers live, where in one arena each of them lies, and a picture of that."""
