"""A mapping as the text of a query, for engines that Python cannot reach."""

from evenhand.engines.sql.dialects import DIALECTS
from evenhand.engines.sql.query import write_query

__all__ = ["DIALECTS", "write_query"]
