"""How what was found is written: one value for it (``section``), and one module for each medium.

Knows sections alone, and nothing of problems, mappings or tables of people.
"""
