"""Reports on the effects of quantization: the page `report.html`, and the display of modules in notebooks.

`collect` runs the float and the quantized model on samples and returns a `model.Report`. `render` converts it to a
single HTML file that needs no network access.
"""
