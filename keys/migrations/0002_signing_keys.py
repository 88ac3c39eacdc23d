from django.db import migrations, models


def take_over(apps, schema_editor):
    """What 1.0.0 has published waits for `importkeys`; what it has withdrawn stays withdrawn."""
    rows = apps.get_model("keys", "PublishedKey").objects.all()
    apps.get_model("keys", "SigningKey").objects.bulk_create(
        apps.get_model("keys", "SigningKey")(
            kid=row.kid,
            private_key="",
            signs_from=row.signs_from or row.published_at,
            withdrawn_at=row.removed_at,
        )
        for row in rows
    )


class Migration(migrations.Migration):

    dependencies = [
        ("keys", "0001_initial"),
        ("audit", "0003_erasure"),  # the first key is recorded once this is applied
    ]

    operations = [
        migrations.CreateModel(
            name="SigningKey",
            fields=[
                ("kid", models.CharField(max_length=43, primary_key=True, serialize=False)),
                ("public_jwk", models.JSONField(default=dict)),
                ("private_key", models.TextField()),
                ("signs_from", models.DateTimeField()),
                ("withdrawn_at", models.DateTimeField(null=True)),
            ],
            options={"ordering": ["signs_from", "kid"]},
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop, elidable=True),
        migrations.DeleteModel(name="PublishedKey"),
    ]
