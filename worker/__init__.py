"""The worker: sends mail, runs the jobs that apps register, and deletes old data."""
