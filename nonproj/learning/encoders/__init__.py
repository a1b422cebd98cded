"""Fine-tuning a pretrained encoder together with the layers that score parts from it.

Optional: the extra ``train-encoder``.  All but `start` needs PyTorch, and `nonproj.components.encoder` imports it only
where there is an encoder to train.

- `start`: the encoder and the layers from which fine-tuning starts, in a folder or in a model
- `module`: the encoder and its layers in PyTorch
- `losses`: of a sentence's heads and structures, given the scores of arcs or parts
- `training`: batches and steps
- `checkpoint`: the state after an epoch, from which an interrupted run continues
"""
