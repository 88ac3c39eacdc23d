"""How fast the service is, beside the floors that it stands on: `make bench`."""
