"""Floor 0: text to facts, pure. One file per kernel file, named after it."""
