"""Pictures as PNG and PDF: SVG converted by a library without system dependencies (``nonproj[pictures]``)."""

from __future__ import annotations

from types import ModuleType

from nonproj.errors import DependencyError, needs
from nonproj.pictures.content import Picture
from nonproj.pictures.svg import to_svg

SCALE = 2.0
"""Pixels of a PNG for each unit of the SVG."""


def converter() -> ModuleType:
    """Return the module ``vl_convert``.

    Raises
    ------
    DependencyError
        It is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise DependencyError(needs("PNG and PDF need", "vl-convert-python", "pictures")) from None
    return vl_convert


def to_png(picture: Picture) -> bytes:
    """Return a picture as PNG; raise `DependencyError` without the library."""
    return converter().svg_to_png(to_svg(picture, dark=False), scale=SCALE)


def to_pdf(picture: Picture) -> bytes:
    """Return a picture as PDF; raise `DependencyError` without the library."""
    return converter().svg_to_pdf(to_svg(picture, dark=False))
