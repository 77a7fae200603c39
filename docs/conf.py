"""The site of the documentation: `make docs` builds it into build/docs, without the network. Warnings are errors."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text
from sphinx.application import Sphinx

project = "qmlir"
copyright = "the authors of qmlir"
html_title = "qmlir"

extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["examples"]

# Anchors of headings as GitHub makes them, so that a link is good in both.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_copy_source = False
html_show_sphinx = False


class MlirLexer(RegexLexer):
    """MLIR's text, which Pygments has no lexer for: comments, values, types, operations, numbers."""

    name = "MLIR"
    aliases = ["mlir"]
    tokens = {
        "root": [
            (r"//.*$", Comment.Single),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"%[\w$.#-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^\w+", Name.Label),
            (r"[!#][\w$.]+", Keyword.Type),
            (r"\b(?:tensor|memref|vector|index|bf16|[su]?i\d+|[fu]\d+)\b", Keyword.Type),
            (r"\b[a-z_]\w*\.\w+", Keyword),
            (r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)", Number),
            (r"[\w$]+", Text),
            (r"[=:,+*<>(){}\[\]-]", Operator),
            (r"\s+|.", Text),
        ]
    }


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("mlir", MlirLexer)
