"""Floor 3: composition. One asyncio loop, one daemon thread a source, one report published at a time."""
