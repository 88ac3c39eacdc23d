"""System checks of the signing keys, for production (`manage.py check --deploy`)."""

import stat
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured

from keys.folder import key_files
from keys.ring import Key

OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO


@register("security", deploy=True)
def keys_can_be_read(app_configs: object, **options: object) -> list[CheckMessage]:
    """Too short ones too; an installation's own folder gets its first key at the first start."""
    problems: list[CheckMessage] = []
    for path in key_files():
        try:
            Key.read(path)
        except ImproperlyConfigured as error:
            problems.append(
                Error(
                    str(error),
                    hint="Replace it: `manage.py rotatekeys` publishes a new key.",
                    id="keys.E001",
                )
            )
    return problems


@register("security", deploy=True)
def keys_are_private(app_configs: object, **options: object) -> list[CheckMessage]:
    folder: Path = settings.JWT_KEYS_DIR
    paths = [folder, *key_files()] if folder.exists() else []
    return [
        CheckWarning(
            f"Others than its owner have rights to {path}: whoever reads a key can sign tokens.",
            hint=f"chmod {'700' if path == folder else '600'} {path}",
            id="keys.W001",
        )
        for path in paths
        if path.stat().st_mode & OTHERS_MAY
    ]


@register("security", deploy=True)
def there_is_a_key(app_configs: object, **options: object) -> list[CheckMessage]:
    if key_files():
        return []
    return [
        Error(
            f"JWT_KEYS_DIR ({settings.JWT_KEYS_DIR}) is missing or holds no .pem file.",
            hint="Copy the other hosts' keys into it; `manage.py makekey` makes the very first.",
            id="keys.E002",
        )
    ]
