"""gunicorn's settings of the service, without what its workers do for the service alone."""

from pathlib import Path

exec(Path("gunicorn.conf.py").read_text(encoding="utf-8"))


def post_worker_init(worker: object) -> None:
    """The floor has no signing keys and no limiter."""
