"""Segmentation of plain text into sentences, tokens and words.

- `characters`: kinds of characters
- `graphemes`: extended grapheme clusters, which no token divides
- `addresses`, `entities`: addresses and names, which are never divided, and entities of HTML
- `layout`: chunks between blanks, lines, paragraphs; hashes of shapes
- `tokens`, `words`, `sentences`: features and decisions of the linear models
- `token_table`, `usage`, `sentence_features`: tokens as numbers, statistics of words, and features of sentence ends
- `sentence_network`, `sentence_network_learning`: a network added to the linear model of sentences, and its training
- `alternatives`: the choice between uncertain sentences by their trees
- `corpus`, `training_text`: the raw text of a treebank, and its gold tokens and folds
- `sentence_training`: the models of sentence ends
- `training`: the training of all these models on a treebank
- `multiword`: multiword tokens and their words
- `multiword_segments`, `multiword_lexicon`, `multiword_model`: segments of tokens, their lexicon, and their scores
- `rules`: segmentation without training
- `languages`: abbreviations and patterns of languages
- `lexicon`: a user's lexicon of tokens
- `segmenter`: the segmenter, which combines all of these
- `formats`: the formats of plain text, and the options of reading it
- `input`, `pieces`: plain text from files and pipes, and its division into pieces
- `output`: CoNLL-U from which the text can be restored
"""
