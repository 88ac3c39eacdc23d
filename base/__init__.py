"""Parts that every app may use, and that import no app. The list of the modules is closed."""
