"""What every app shares: nothing here knows an app. The list of its modules is closed."""
