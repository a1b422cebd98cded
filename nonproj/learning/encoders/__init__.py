"""Fine-tuning a pretrained encoder together with the layers that score parts from it.

Optional: the extra ``train-encoder``; `nonproj.components.encoder` imports it only where there is an encoder to train.

- `module`: the encoder and its layers in PyTorch
- `losses`: of a sentence's heads and structures, given the scores of arcs or parts
- `training`: batches and steps
- `checkpoint`: the state after an epoch, from which an interrupted run continues
"""
