"""`python locale/compile.py`: compiles each django.po beside itself, without gettext's programs."""

from pathlib import Path

import polib

if __name__ == "__main__":
    for path in sorted(Path(__file__).parent.glob("*/LC_MESSAGES/django.po")):
        polib.pofile(str(path)).save_as_mofile(str(path.with_suffix(".mo")))
