"""Drop the index of sign-ins: users' rows have the last one now."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0007_former_addresses"),
        ("accounts", "0004_last_sign_in"),  # which reads by it
    ]
    operations = [migrations.RemoveIndex("record", "audit_sign_in")]
