"""Pretrained encoders (BERT, RoBERTa, XLM-R), run by ONNX Runtime: words in, one vector for each word out.

Optional: the extra ``encoder``.  A model stores arrays only; the graph is written when it is loaded, so a file brings
no operators of its own.  Each sentence is computed by itself, so its vectors never depend on the batch.

- `architecture`: the sizes of an encoder; its tensors, under our own names, from a Hugging Face folder
- `quantisation`: matrices of eight bits, with a scale for each block
- `tokenizer`: the accepted settings of a Hugging Face tokenizer
- `pieces`: splits words into the numbered pieces of a Hugging Face tokenizer
- `trimming`: a vocabulary cut to the pieces of a treebank
- `windows`: long sentences as overlapping windows
- `onnx_writer`: graphs in the ONNX format, as bytes
- `graph`: the graph of an encoder, written when it is loaded
- `session`: the encoder and its runs
- `heads`: scores of parts and labels from the vectors
- `tags`: tags from the vectors of words
- `scorer`: encoder, heads and tags together, as a component of a model
"""
