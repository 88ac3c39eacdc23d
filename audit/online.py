"""Migration operations for large tables."""

from typing import Any

from django.db import migrations


class AddIndexOnline(migrations.AddIndex):
    """An index that is made while others write, on PostgreSQL: a large table takes minutes, for
    which calls would wait. In a migration with `atomic = False` and nothing else, so that one which
    was broken off can be run again; what it left is no index that holds, and goes first."""

    def database_forwards(
        self, app_label: str, editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        editor.remove_index(model, self.index, concurrently=True)  # IF EXISTS
        editor.add_index(model, self.index, concurrently=True)
