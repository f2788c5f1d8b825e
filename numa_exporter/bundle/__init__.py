"""Floor 2: the evidence bundle. A recording as an archive that says of itself whether it is whole."""
