"""Pictures of dependency trees from any source, independent of the parser.

- `content`: the contents of a picture: words, arcs above them, and arcs of another tree below them
- `layout`: positions of words, arcs and labels, such that arcs cross only if they cross in the tree
- `fonts`: estimated widths of text
- `svg`: scalable vector graphics; `tree.js` and `tree.css` draw the same in a page, whose colours `theme.js` changes
- `certificate.js`: in a page, the button that opens the details of a certificate
- `pages`: self-contained pages: joined scripts, and a content security policy
- `images`: PNG and PDF, from SVG
- `tikz`: LaTeX with the package tikz-dependency
- `terminal`: brackets beside the words, in colour if the terminal supports it
"""
