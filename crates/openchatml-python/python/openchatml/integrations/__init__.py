"""Plug-ins for other packages. Each module requires the package that it is named after."""
