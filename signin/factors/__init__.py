"""What a person has beside the password: an authenticator app, passkeys, recovery codes."""
