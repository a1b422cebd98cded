"""Trained models and their files.

- `model`: a trained parser, tagger and segmenter with its options
- `container`: the file of a model, in the format of safetensors
- `installed`: models that are installed, and the lookup of models by name
- `hub`: models on the Hugging Face Hub
- `rounding`: rounding of weights, so that a model compresses well
- `wheel`: a package that contains a model
- `checks`: validation of a model before use
"""
