"""What quantization did to a model, on one page: `report.html`, and how a module shows itself in a notebook.

`collect` runs the float and the quantized model on samples and gives a `model.Report`; `render` makes the page of it,
one file that needs no network.
"""
