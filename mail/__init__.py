"""E-mailed links, the outbox, how its mails read, and the worker that sends them."""
