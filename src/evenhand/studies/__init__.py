"""The paper's two studies, run again: its numbers and its figures."""
