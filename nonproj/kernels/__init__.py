"""Compiled functions, called kernels, and their cache on disk.

- `interpreters`: other Python processes, with the modules and kernels of this one
- `kernel`: the decorator of compiled functions
- `linking`: compilation of functions as parts of those that call them
- `plain`: compilation by numba alone, where its private parts do not fit `linking` and `cache`
- `settings`: numba's settings, none of which are read from the current folder
- `folders`: the folder of the compiled code
- `cache`: the files in that folder, shared by environments with the same sources
- `shipped`: precompiled kernels, in a package of their own
- `threads`: objects that each thread has for itself
- `trust`: checks that nobody else can write to a folder
"""
