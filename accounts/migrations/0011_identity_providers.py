"""Identity providers, domains and identities move to the app `sso`. Their tables stay as they are."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_trusts_emails"), ("sso", "0002_identity_providers")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Identity"),
                migrations.DeleteModel("Domain"),
                migrations.DeleteModel("Connection"),
            ]
        )
    ]
