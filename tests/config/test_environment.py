"""A bad value ends the start with one line that names it."""

import os
import subprocess
import sys

import pytest

from config import environment, servers

BAD = {
    "PORT": ["0", "65536", "http", "-1", "1.5", "", "\uff18\uff10"],
    "SECRET_KEY": ["", "short"],
    "SECRET_KEY_FALLBACKS": ["short", f"{'x' * 32},short", f"{'x' * 32}\n{'y' * 32}"],
    "DATABASE_URL": [
        *["", "mysql://x/y", "nonsense", "postgres://u@host:port/db"],
        "postgres://u@host/db?sslmode=verify-ful",
    ],
    "REDIS_URL": [
        *["localhost:6379", "http://x", "redis://", "redis://h:port/0", "redis://h/x"],
        *["redis://h/0?sockettimeout=1", "redis+sentinel://h:26379", "redis+other://h"],
    ],
    "EMAIL_URL": ["", "smpt://x", "smtp://host:port", "smtp://", "filemail://", "filemail:///"],
    "ALLOWED_HOSTS": ["https://api.test", "api.test:443", "api.test/path", "[::1]:80", "a b"],
    "SECRET_KEY_FILE": ["/nowhere", "/"],
    "SECRET_KEY_FALLBACKS_FILE": ["/nowhere", "/"],
    "DEFAULT_FROM_EMAIL": ["", "nobody", "a@b\nBcc: c@d.ee"],
    "FRONTEND_URL": ["", "app.example.com", "ftp://x", "https://x/#y"],
    "PASSKEYS_RP_ID": ["", "example.com", "host"],
    "STAFF_SECOND_FACTOR": ["", "perhaps"],
    "SERVICE_URL": ["", "api.example.com", "https://x/path"],
    "CORS_ALLOWED_ORIGINS": [
        *["*", "app.example.com", "https://x/path", "https://*.example.com", "https://*"],
        "https://me@example.com",
    ],
    "COOKIE_SECURE": ["", "maybe"],
    "COOKIE_SAMESITE": ["", "Loose"],
    "ACCESS_TOKEN_SECONDS": ["0", "1h"],
    "JWT_LEEWAY_SECONDS": ["-1", "301"],
    "RATE_LIMIT_CREDENTIAL": ["0", "ten", "10 "],
    "RATE_LIMIT_WINDOW_SECONDS": ["0", "86401"],
    "LOCKOUT_THRESHOLD": ["0"],
    "TRUSTED_PROXY_COUNT": ["-1", "all"],
    "BIND": ["localhost", "127.0.0.1:8000", "127.1", "*", ""],
    "PASSWORD_REJECT_COMMON": ["perhaps"],
    "WEB_CONCURRENCY": ["0", "auto"],
    "LOG_FORMAT": ["", "xml"],
    "JWT_ISSUER": [""],
    "LINKS_TERMS": ["http://example.com", "example.com/terms", "https://", "javascript:alert(1)"],
    "LINKS_PRIVACY": ["https://me@example.com/", "https://example.com/a b"],
    "LINKS_HELP": ["mailto:help@example.com", " "],
    "LINKS_IMPRINT": ["https://example.com:port/"],
}


def start(tmp_path, **environment):
    base = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "import config.settings as s; print(s.PORT)"]
    return subprocess.run(
        command, env=base | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", BAD)
def test_bad_value_is_named_in_one_line(tmp_path, name):
    for value in BAD[name]:
        done = start(tmp_path, **{name: value})

        assert done.returncode == 1, value
        assert done.stderr.startswith(f"{name}: ")
        assert f"; example: {name}=" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("name", sorted({*BAD} - {"SECRET_KEY", "SECRET_KEY_FILE", "JWT_ISSUER"}))
@pytest.mark.parametrize("form", ["{}", "redis://h:{}/0", "redis://h/{}", "postgres://h:{}/db"])
def test_any_number_of_digits_is_one_line(tmp_path, name, form):
    done = start(tmp_path, **{name: form.format("9" * 5000)})

    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.parametrize(
    ("url", "hosts", "expected"),
    [
        ("https://api.example.com", ["api.example.com"], True),
        ("https://api.example.com", ["API.Example.Com"], True),
        ("https://api.example.com", [".example.com"], True),
        ("https://example.com", [".example.com"], True),
        ("https://api.example.com", ["*"], True),
        ("https://api.example.com:8443", ["api.example.com"], True),
        ("https://api.example.com", ["api.example.com."], False),
        ("https://api.example.org", [".example.com"], False),
        ("https://my_host", ["*"], False),  # no Host header of this form is taken
        ("https://badexample.com", [".example.com"], False),
        ("https://api.example.com/app", ["*"], False),
        ("http://[::1]:8000", ["[::1]"], True),
        ("http://[::1]:8000", ["*"], True),
        ("http://[::1]:5173", ["[::1]"], False),
        ("http://localhost:5173", ["*"], False),
        ("http://127.0.0.1", ["127.0.0.1"], False),
    ],
)
def test_own_address_is_known_as_django_knows_it(url, hosts, expected):
    assert environment.is_own_url(url, hosts, 8000) is expected


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("https://app.example.com/", "https://app.example.com"),
        ("HTTPS://App.Example.COM:443", "https://app.example.com"),
        ("http://localhost:80", "http://localhost"),
        ("http://[::1]:5173", "http://[::1]:5173"),
    ],
)
def test_origins_are_read_as_browsers_write_them(given, read):
    assert environment.http_url("CORS_ALLOWED_ORIGINS", given, origin=True) == read


def test_secrets_in_bad_addresses_are_not_repeated(tmp_path):
    for name in ("DATABASE_URL", "REDIS_URL", "EMAIL_URL"):
        done = start(tmp_path, **{name: "ftp://user:hunter2secret@host/x"})

        assert "hunter2secret" not in done.stderr


def test_secret_may_stand_in_a_file(tmp_path):
    path = tmp_path / "email_url"
    path.write_text("smtp+ssl://user:hunter2secret@mail.test\n")
    done = start(tmp_path, EMAIL_URL_FILE=str(path))
    both = start(tmp_path, EMAIL_URL_FILE=str(path), EMAIL_URL="consolemail://")

    assert (done.returncode, both.returncode) == (0, 1)
    assert both.stderr.startswith("EMAIL_URL_FILE: is set, and EMAIL_URL too")


def test_fallbacks_of_the_secret_may_stand_in_a_file(tmp_path):
    older, oldest = "x" * 32, "y" * 40
    path = tmp_path / "fallbacks"
    path.write_text(f"{older}, {oldest}\n")
    ask = [sys.executable, "-c", "import config.settings as s; print(s.SECRET_KEY_FALLBACKS)"]
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    given = {"SECRET_KEY_FALLBACKS_FILE": str(path)}, {"SECRET_KEY_FALLBACKS": ""}, {}
    read = [
        subprocess.run(ask, env=environment | more, capture_output=True, check=True, text=True)
        for more in given
    ]

    assert [done.stdout for done in read] == [f"{[older, oldest]}\n", "[]\n", "[]\n"]


def test_tls_from_the_first_byte_has_its_own_port(tmp_path):
    ask = [sys.executable, "-c", "import config.settings as s; print(s.EMAIL_PORT)"]
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    ports = [
        subprocess.run(ask, env=environment | {"EMAIL_URL": url}, capture_output=True, check=True)
        for url in ("smtp+ssl://mail.test", "smtp+tls://mail.test", "smtp+ssl://mail.test:2465")
    ]

    assert [done.stdout for done in ports] == [b"465\n", b"587\n", b"2465\n"]


def test_defaults_need_nothing(tmp_path):
    done = start(tmp_path)

    assert (done.returncode, done.stdout) == (0, "8000\n")
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_secret_is_made_once(tmp_path):
    start(tmp_path)
    first = (tmp_path / "secret_key").read_text()
    start(tmp_path)

    assert (tmp_path / "secret_key").read_text() == first
    assert len(first) >= 50


def test_links_that_are_empty_are_none(tmp_path):
    ask = [sys.executable, "-c", "import config.settings as s; print(s.LINKS)"]
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    environment |= {"LINKS_TERMS": "", "LINKS_HELP": "https://help.example.com/en?from=us"}
    done = subprocess.run(ask, env=environment, capture_output=True, check=True, text=True)

    assert done.stdout == "{'help': 'https://help.example.com/en?from=us'}\n"


def test_same_site_none_needs_secure_cookies(tmp_path):
    done = start(tmp_path, COOKIE_SAMESITE="None", COOKIE_SECURE="false")

    assert done.stderr.startswith("COOKIE_SAMESITE: ")


@pytest.mark.parametrize("program", [["manage.py", "check"], ["-m", "gunicorn", "config.wsgi"]])
def test_programs_end_with_the_same_line(tmp_path, program):
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "WEB_THREADS": "many"}
    done = subprocess.run(
        [sys.executable, *program], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert done.stderr.startswith("WEB_THREADS: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgres://u@host/db?sslmod=require", "sslmod"),
        ("postgres://u@host/db?sslmode=", "sslmode"),
        ("postgres://u@host/db?sslmode=require&sslmode=disable", "sslmode"),
        ("postgres://u@host/db?target_session_attrs=primry", "primry"),
        ("postgres://u@host/db?connect_timeout=long", "connect_timeout"),
        ("postgres://u@host/db?conn_max_age=60", "conn_max_age"),
        ("postgres://u@host/db?disable_server_side_cursors=maybe", "disable_server_side_cursors"),
        ("postgres://u@one:5432,two/db", "each host"),
        ("sqlite:////tmp/x?sslmode=require", "timeout=SECONDS"),
    ],
)
def test_bad_query_of_a_database_is_named(url, problem):
    with pytest.raises(SystemExit, match=f"^DATABASE_URL: .*{problem}"):
        servers.database_config(url)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("postgres://u:p@one:5432,two:5433/db?target_session_attrs=any", "one,two", "5432,5433"),
        ("postgres://u:p@one,two/db?disable_server_side_cursors=true", "one,two", ""),
        ("postgres://u:p@one/db?sslmode=verify-full&connect_timeout=3", "one", ""),
    ],
)
def test_several_hosts_and_their_options_are_read(url, host, port):
    config = servers.database_config(url)

    assert (config["HOST"], str(config["PORT"])) == (host, port)
    assert config["DISABLE_SERVER_SIDE_CURSORS"] is ("cursors=true" in url)


@pytest.mark.parametrize("query", ["db=x", "nothing=1", "socket_timeout=long"])
def test_bad_query_of_redis_is_named(monkeypatch, query):
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1/0?{query}")

    with pytest.raises(SystemExit, match=r"^REDIS_URL: has a bad query parameter: "):
        servers.redis_url("REDIS_URL")


@pytest.mark.parametrize(
    "url",
    [
        *["redis+sentinel://h/", "redis+sentinel://h/mymaster/x", "redis+sentinel:///mymaster/0"],
        *["redis+sentinel://h:port/mymaster", "redis+sentinel://h,/mymaster", "redis+sentinel://"],
        *["redis+cluster://h/0", "redis+cluster://", "tcp+cluster://h", "redis+cluster://h?x=1"],
    ],
)
def test_bad_address_of_several_servers_is_named(url):
    with pytest.raises(SystemExit, match=r"^REDIS_URL: "):
        servers.redis_servers("REDIS_URL", url)


def test_address_of_sentinels_is_read():
    url = "rediss+sentinel://ada:p%40ss@a:1,[::1],c/MyMaster/2?sentinel_password=w&ssl_ca_certs=/ca"
    found = servers.redis_servers("REDIS_URL", url)

    assert found is not None
    assert found["endpoints"] == [("a", 1), ("::1", 26379), ("c", 26379)]
    assert (found["service"], found["options"]["db"]) == ("MyMaster", 2)
    assert (found["options"]["username"], found["options"]["password"]) == ("ada", "p@ss")
    assert found["sentinel_options"] == {"ssl": True, "ssl_ca_certs": "/ca", "password": "w"}


def test_address_of_a_cluster_is_read():
    found = servers.redis_servers("REDIS_URL", "redis+cluster://:secret@a,b:7001")

    assert found is not None
    assert found["endpoints"] == [("a", 6379), ("b", 7001)]
    assert found["service"] is None
    assert found["options"] == {"password": "secret"}


APP, SERVICE = "https://app.example.com", "https://api.example.com"


@pytest.mark.parametrize(
    ("frontend", "service", "given", "read"),
    [
        (None, None, None, ("localhost", ["http://localhost:8000"])),
        (APP, SERVICE, None, ("app.example.com", [APP])),
        (APP, SERVICE, "Example.com", ("example.com", [APP, SERVICE])),
        (f"{APP}/office", SERVICE, "example.com", ("example.com", [APP, SERVICE])),
        ("http://127.0.0.1:8000", None, None, ("", [])),
        ("http://[::1]:8000", None, None, ("", [])),
        ("http://app.example.com", SERVICE, None, ("", [])),  # no browser trusts plain http
        (APP, SERVICE, "127.0.0.1", ("", [])),
    ],
)
def test_passkeys_belong_to_a_domain(tmp_path, frontend, service, given, read):
    values = {"FRONTEND_URL": frontend, "SERVICE_URL": service, "PASSKEYS_RP_ID": given}
    code = "import config.settings as s; print((s.PASSKEYS_RP_ID, s.PASSKEYS_ORIGINS))"
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    environment |= {name: value for name, value in values.items() if value}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == str(read)
