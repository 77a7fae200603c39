"""The exporter of modules as LiteRT models (`.tflite`)."""
