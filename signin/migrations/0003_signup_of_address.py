"""The sign-up links of an address are sought by the back office, by a change of the address and by
an erasure: strangers can ask for more of them than anybody may read through."""

from django.db import migrations, models

from audit.online import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("signin", "0002_factors")]
    operations = [
        AddIndexOnline(
            "signuplink",
            models.Index(
                fields=["email"], name="signup_of_address", opclasses=["varchar_pattern_ops"]
            ),
        )
    ]
