"""Tables that the tests keep by hand, held against what the code has."""


def compare(table, actual, advice):
    """Fail unless the table has exactly what there is; `advice` says where the table is, and what
    to do."""
    missing = sorted(map(str, actual - table))
    superfluous = sorted(map(str, table - actual))
    assert not missing, f"not in the table: {', '.join(missing)}. To do: {advice}."
    assert not superfluous, f"in the table, but gone: {', '.join(superfluous)}. To do: {advice}."
