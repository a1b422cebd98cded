"""Trained models and their files.

- `model`: a trained parser, tagger and segmenter with its options
- `container`: the file of a model, in the format of safetensors
- `checks`: what a model must be like, wherever it comes from
"""
