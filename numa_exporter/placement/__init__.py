"""Floor 2: what a Sample means. Pure: a Sample and a Ledger in, a Placement out."""
