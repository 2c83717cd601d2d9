"""The specialised method for large programmes: ``method`` is its entrance, ``form`` says what it solves.

``limits`` says which programmes are for it; nothing else is loaded before one is.
"""
