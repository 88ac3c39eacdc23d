"""`manage.py importkeys`: import the signing keys of 1.0.0, which were files."""

from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from keys.models import SigningKey


class Command(BaseCommand):
    help = "Import the PEM files of 1.0.0 (its JWT_KEYS_DIR), so that its tokens stay valid."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder with the .pem files")

    @transaction.atomic
    def handle(self, *args: object, folder: Path, **options: Any) -> None:
        paths = sorted(folder.glob("*.pem"))
        if not paths:
            raise CommandError(f"{folder} has no .pem file.")
        for path in paths:
            try:
                private = load_pem_private_key(path.read_bytes(), password=None)
            except (OSError, ValueError, TypeError) as error:
                raise CommandError(f"{path} cannot be read ({error}).") from None
            if not isinstance(private, RSAPrivateKey):
                raise CommandError(f"{path} is not an RSA key.")
            key = SigningKey.from_private_key(private)
            same = SigningKey.objects.filter(kid=key.kid)  # 1.0.0 has published from when it signs
            known = same.update(public_jwk=key.public_jwk, private_key=key.private_key)
            state = "was imported" if known else "was skipped: withdrawn, or never published"
            self.stdout.write(f"{key.kid} ({path.name}) {state}.")
