"""Trained models and their files.

- `model`: a trained parser, tagger and segmenter with its options
- `container`: the file of a model, in the format of safetensors
- `installed`: models that are installed as packages, and what a name means
- `hub`: models on the Hugging Face Hub
- `downloads`: the models that were downloaded from there, and their removal
- `rounding`: weights rounded, so that a model compresses well
- `wheel`: the package of a model
- `checks`: what a model must be like, wherever it comes from
"""
