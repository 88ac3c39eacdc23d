"""Writes the columns "values" and "default" of docs/configuration.md from config/settings.py."""

import ast
import re
from pathlib import Path

PAGE = Path("docs/configuration.md")
ROW = re.compile(r"^\| `([A-Z_]+)` \|.*\| ([^|]+) \|$", re.MULTILINE)
VALUES = {
    "commit_of_clone": "text",
    "passkey_domain": "domain",
    "secret_key": "secret",
    "env.BOOLEAN": "`true`, `false`",
    "env.BREACH_FILE": "path",
    "env.DATABASE_ADDRESS": "`postgres://`, `sqlite://`",
    "env.DSN": "DSN",
    "env.MAIL_SERVER": "`smtp://`, `smtps://`, `smtp+tls://`, `smtp+ssl://`, `filemail://`, "
    "`consolemail://`",
    "env.ADDRESS": "IP address",
    "env.HOSTS": "list of host names",
    "env.HTTPS_LINK": "https URL",
    "env.HTTPS_ORIGINS": "list of https origins",
    "env.LENIENT_TIERS": "list of `authenticated`, `public`, `check`",
    "env.NAME_SERVERS": "list of addresses with ports",
    "env.ORIGIN": "http(s) URL",
    "env.ORIGINS": "list of origins",
    "env.PRIVATE_SCHEMES": "list of schemes",
    "env.REDIS_ADDRESS": "[address](#redis-addresses)",
    "env.SECRETS": "list of secrets",
    "env.SENDER": "e-mail address",
    "env.TEXT": "text",
    "env.BEARER_TOKEN": "secret",
    "env.URL": "http(s) URL",
    "env.WARNINGS": "list of ids",
}
NO_VARIABLE = {"refuse_start", "is_own_url", "misspelt_names", "digest_static_files"}
NO_VARIABLE |= {"refuse_removed_names"}
MADE = {  # defaults that are no values
    "COMMIT": "that of the clone",
    "PASSKEYS_RP_ID": "host of `$FRONTEND_URL`",
    "SECRET_KEY": "generated in `$DATA_DIR/secret_key`",
}


def declared():
    """The columns "values" and "default" of each setting that config/settings.py reads."""
    columns = {}
    for node in ast.walk(ast.parse(Path("config/settings.py").read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).startswith("env."):
            continue
        kind = ast.unparse(node.func).removeprefix("env.")
        if kind in NO_VARIABLE:
            continue
        name = ast.literal_eval(node.args[0])
        columns[name] = values(kind, node), MADE.get(name) or default(node)
    return columns


def values(kind, node):
    if kind == "read_choice":
        return ", ".join(f"`{choice}`" for choice in ast.literal_eval(node.args[2]))
    if kind != "read_integer":
        kind = ast.unparse(node.args[2]) if kind == "read" else kind
        assert kind in VALUES, f"say what {kind} takes in VALUES of tests/config/settings_table.py"
        return VALUES[kind]
    bounds = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    low, high = bounds.get("low", "1"), bounds.get("high")
    return f"{low} to {eval(high)}" if high else f"{low} or more"


def default(call):
    """The default of a setting's call, with other settings in it as $NAME."""
    if len(call.args) < 2 or ast.unparse(call.args[1]) == "''":
        return "none"
    node = call.args[1]
    if isinstance(node, ast.Constant):
        return f"`{node.value}`"
    text = "".join(
        part.value if isinstance(part, ast.Constant) else ast.unparse(part.value)
        for part in node.values
    )
    text = re.sub(r"\b([A-Z_]{4,})\b", r"$\1", text)
    return "`{}`".format(re.sub(r" / '([^']*)'", r"/\1", text).replace("$BASE_DIR/", ""))


def filled(page):
    """The page with both columns filled from the code, and the names of its settings."""
    columns = declared()

    def row(match):
        name, meaning = match.groups()
        return f"| `{name}` | {' | '.join(columns.get(name, ('', '')))} | {meaning} |"

    return ROW.sub(row, page), [match[1] for match in ROW.finditer(page)]


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8"))[0], "utf-8")
