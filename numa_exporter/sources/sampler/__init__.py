"""The page sampler: where a process's pages are, without walking its page tables.

Every page of a backing's frame is sampled with the same known chance, whatever its state. What is learned from the
answers decides only how often a page is asked again, never where one asks: strata that the deciding answers are pooled
into are biased on sparse address space. Pure but for the Space that is handed in: no clock, no file, and random numbers
from a seed.

    frame      where a backing can have pages            (/proc/PID/maps)
    jump       cells of it that are proven empty go      (PAGEMAP_SCAN)
    panel      points that are asked again and again     (move_pages in query mode)
    windows    whole windows, where islands are too many to list
    estimator  pages by node, how well they are known, and when to say nothing

Page numbers throughout are addresses divided by the base page size.
"""
