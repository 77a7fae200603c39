"""The `target` dialect: attributes that describe the targets of a module and assign functions to them."""
