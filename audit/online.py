"""Migration operations for large tables."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class AddIndexOnline(AddIndexConcurrently):
    """Adds an index. On PostgreSQL this does not block writes; on a large table it takes minutes.

    Use it as the only operation of a migration with `atomic = False`. If the migration is
    interrupted, run it again: the invalid index that it left is dropped first.
    """

    def database_forwards(
        self, app_label: str, editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if editor.connection.vendor == "postgresql":
            # An interrupted run has left an invalid index, which blocks a new one of its name.
            editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {self.index.name}")
            super().database_forwards(app_label, editor, from_state, to_state)
        else:
            migrations.AddIndex.database_forwards(self, app_label, editor, from_state, to_state)
