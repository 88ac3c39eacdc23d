"""ExportBudget: how often somebody has had their data today."""

from audit.budget import Budget


class ExportBudget(Budget):
    """The exports of one person in the present day."""
