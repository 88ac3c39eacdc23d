"""E-mailed links, the outbox, how its mails read, and how they are sent."""
