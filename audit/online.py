"""Migration operations for large tables."""

from typing import Any

from django.db import migrations


class AddIndexOnline(migrations.AddIndex):
    """Adds an index without blocking writes, on PostgreSQL: on a large table that takes minutes.
    Use it alone in a migration with `atomic = False`. An interrupted migration can be run again:
    the invalid index that it left is dropped first."""

    def database_forwards(
        self, app_label: str, editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        editor.remove_index(model, self.index, concurrently=True)  # IF EXISTS
        editor.add_index(model, self.index, concurrently=True)
