"""Raises an error that says where the papers' other systems are."""

raise ImportError(
    "nonproj.systems has moved to the package nonproj_systems: pip install ./systems in a checkout of nonproj"
)
