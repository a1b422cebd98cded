"""Compiled code.

- `interpreters`: other Python processes, with the modules and kernels of this one
- `kernel`: the decorator of compiled functions, and the folder of the compiled code
- `linking`: compilation of functions as parts of those that call them
- `cache`: the files in that folder, shared by environments with the same sources
- `shipped`: precompiled kernels, in a package of their own
- `threads`: objects that each thread has for itself
- `trust`: whether others could change what is in a folder
"""
