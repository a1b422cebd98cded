"""Page and picture."""
def write_page(*a): pass
