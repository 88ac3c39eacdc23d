"""Second factors will live here."""
