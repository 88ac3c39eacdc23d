"""Where gunicorn looks for its settings by itself; they live in config/gunicorn.py."""

from config.gunicorn import *  # noqa: F403
