"""Pictures of dependency trees, from any source: nothing here knows a parser.

- `content`: what is drawn: words, arcs above them, and arcs of another tree below them
- `layout`: where words, arcs and labels are placed, so that arcs cross only where the tree's arcs do
- `fonts`: estimated widths of text
- `svg`: scalable vector graphics; `tree.js` draws the same in a page
- `images`: PNG and PDF, from SVG
- `tikz`: LaTeX with the package tikz-dependency
- `terminal`: brackets beside the words, with colours where the terminal has them
"""
