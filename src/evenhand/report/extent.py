"""How much a page shows at once: what ``findings.extent`` says."""

from evenhand.findings.extent import foremost as foremost
from evenhand.findings.extent import groups_drawn as groups_drawn
from evenhand.findings.extent import outcomes_drawn as outcomes_drawn
