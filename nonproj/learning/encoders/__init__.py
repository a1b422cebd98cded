"""Fine-tuning a pretrained encoder together with the layers that score parts from it.

Optional: the extra ``train-encoder``.  Only `stage` is imported where PyTorch is not installed.

- `stage`: the stage of training
- `module`: the encoder and its layers in PyTorch
- `training`: losses, batches and steps
- `checkpoint`: the state after an epoch, from which an interrupted run goes on
"""
