"""The parser's subproblems: `oracles` has trees and general head automata as oracles of a relaxation."""
