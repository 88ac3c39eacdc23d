"""What every call shares: base views, fields, pages of lists, error answers, the schema."""
