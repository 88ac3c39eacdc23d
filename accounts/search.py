"""How much of what somebody looks for is looked for."""

LONGEST = 100  # characters
MOST = 10  # words: each is sought in several columns of each row


def cut(text: str) -> str:
    """The text's first ten words, of its first hundred characters; PostgreSQL knows no NUL."""
    return " ".join(text[:LONGEST].replace("\0", " ").split()[:MOST])
