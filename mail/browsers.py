"""A User-Agent header in plain words. The client chooses it, so it proves nothing."""

# The first that occurs counts: most browsers call themselves by older ones' names, too.
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "FxiOS/": "Firefox"}
BROWSERS |= {"CriOS/": "Chrome", "Chrome/": "Chrome", "Safari/": "Safari", "curl/": "curl"}
SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iOS", "iPad": "iPadOS"}
SYSTEMS |= {"Mac OS X": "macOS", "CrOS": "ChromeOS", "Linux": "Linux"}


def browser_and_system(agent: str) -> tuple[str, str]:
    """("Firefox", "Windows") of a User-Agent header; "" for what is not known."""
    return first(BROWSERS, agent), first(SYSTEMS, agent)


def first(names: dict[str, str], agent: str) -> str:
    return next((name for mark, name in names.items() if mark in agent), "")
