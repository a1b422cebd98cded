"""Says where the other systems of the papers are."""

raise ImportError("nonproj.systems is the package nonproj_systems now: pip install ./systems in a checkout of nonproj")
