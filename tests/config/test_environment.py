"""A bad value ends the start with one line that names it and never repeats a secret."""

import os
import runpy
import subprocess
import sys

import pytest

from config import environment

NO_DOMAINS = ["a@b..cc", f"Acme <a@{'b' * 64}.cc>"]  # of which no header can be made
BAD = {
    "PORT": ["0", "65536", "http", "-1", "1.5", "", "9" * 5000],
    "SECRET_KEY": ["", "short"],
    "SECRET_KEY_FALLBACKS": ["short", f"{'x' * 32},short", f"{'x' * 32}\n{'y' * 32}"],
    "DATABASE_URL": [
        *["", "mysql://x/y", "nonsense", "postgres://u@host:port/db", "postgres://u@h:99999/db"],
        *["postgres://u@host/db?sslmode=verify-ful", "postgres:/u@host/db", "sqlite:db"],
        *["postgres://u@host/db?sslmod=require", "postgres://u@host/db?connect_timeout=long"],
        *["postgres://u@host/db?target_session_attrs=primry", "sqlite:////tmp/x?sslmode=require"],
        *["postgres://u@host/", "sqlite:////tmp/x?timeout=long"],
        *["postgres://u@host/db?atomic_requests=true", "postgres://u@host/db?Conn_Max_Age=60"],
        "postgres://u@host/db?disable_server_side_cursors=maybe",
    ],
    "REDIS_URL": [
        *["localhost:6379", "http://x", "redis://", "redis://h:port/0", "redis://h/x"],
        *["redis://h/0?sockettimeout=1", "redis://h/0?db=x", "redis://h/0?socket_timeout=long"],
        *["redis+other://h", "redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://"],
        *["redis+sentinel://h/mymaster/x", "redis+sentinel:///mymaster/0"],
        *["redis+sentinel://h:port/mymaster", "redis+sentinel://h,/mymaster"],
        *["redis+sentinel://h:70000/mymaster", "redis+cluster://h/0", "redis+cluster://"],
        *["tcp+cluster://h", "redis+cluster://h?x=1", "redis+cluster://h?db=0"],
    ],
    "EMAIL_URL": ["", "smpt://x", "smtp://host:port", "smtp://", "filemail://", "filemail:///"],
    "ALLOWED_HOSTS": ["https://api.test", "api.test:443", "api.test/path", "[::1]:80", "a b"],
    "SECRET_KEY_FILE": ["/nowhere", "/"],
    "SECRET_KEY_FALLBACKS_FILE": ["/nowhere", "/"],
    "DEFAULT_FROM_EMAIL": ["", "nobody", "a@b\nBcc: c@d.ee", "Acme, Inc. <a@b.cc>", *NO_DOMAINS],
    "FRONTEND_URL": ["", "app.example.com", "ftp://x", "https://x/#y"],
    "PASSKEYS_RP_ID": ["", "example.com", "host", "127.0.0.1"],
    "STAFF_SECOND_FACTOR": ["", "perhaps"],
    "SERVICE_URL": ["", "api.example.com", "https://x/path"],
    "CORS_ALLOWED_ORIGINS": [
        *["*", "app.example.com", "https://x/path", "https://*.example.com", "https://*"],
        "https://me@example.com",
    ],
    "COOKIE_SAMESITE": ["", "Loose"],
    "RATE_LIMIT_DRY_RUN": ["credential", "public,credential", "all"],
    "JWT_LEEWAY_SECONDS": ["-1", "301"],
    "SSO_SESSION_SECONDS": ["", "0", "-1", "12h"],
    "SSO_PRIVATE_ISSUERS": ["login.internal:8443", "http://x", "https://x/realms/y", "https://*"],
    "DNS_SERVERS": ["dns.example.com", "127.0.0.1:0", "127.0.0.1:65536", "[::1", "1.1.1.1:53:53"],
    "BIND": ["localhost", "127.0.0.1:8000", "127.1", "*", ""],
    "LOG_FORMAT": ["", "xml"],
    "SILENCED_SYSTEM_CHECKS": ["accounts.E003", "W009", "accounts.W009 backoffice.W001"],
    "JWT_ISSUER": [""],
    "PASSWORD_MIN_LENGTH": ["7", "65", ""],
    "PASSWORD_BREACH_FILE": ["/nowhere", "/", "/dev/null"],
    "SENTRY_DSN": ["sentry.example.com", "https://sentry.example.com/1", "https://key@host/"],
    "METRICS_TOKEN": ["short", "a token\nof two lines", "\u00fc" * 20],
    "ASSISTANT_REDIRECT_SCHEMES": ["https", "cursor,javascript", "Cursor", "a b"],
    "AFTER_SIGNIN_URL": ["http://example.com", "example.com"],
    "LINKS_TERMS": ["http://example.com", "example.com/terms", "https://", "javascript:alert(1)"],
    "LINKS_PRIVACY": ["https://me@example.com/", "https://example.com/a b", " "],
    "LINKS_IMPRINT": ["https://example.com:port/"],
}


@pytest.fixture
def read(monkeypatch, tmp_path):
    """Reads the settings from these environment variables alone."""

    def read(**variables):
        environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)} | variables
        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", environment)
            return runpy.run_path("config/settings.py")

    return read


REMOVED_VARIABLES = [  # each with what its line must name
    ("LOCKOUT_RELIEF", "DEVICE_LOCKOUT"),
    ("RATE_LIMIT_CREDENTIAL_NETWORKS", "manage.py networklimit"),
]


@pytest.mark.parametrize(("name", "instead"), REMOVED_VARIABLES)
def test_removed_setting_stops_the_start_until_it_is_gone(read, name, instead):
    for variable in (name, f"{name}_FILE"):
        with pytest.raises(SystemExit, match=rf"^{name}: .*{instead}.*\Z"):
            read(**{variable: "203.0.113.0/24=200"})
    read(**{name: ""})


@pytest.mark.parametrize("name", BAD)
def test_bad_value_is_named_in_one_line(read, name):
    for value in BAD[name]:
        with pytest.raises(SystemExit) as stopped:
            read(**{name: value})

        line = str(stopped.value)
        assert line.startswith(f"{name}: "), value
        assert line.count("\n") == 0, value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "ftp://user:hunter2@host/x") for name in ("DATABASE_URL", "REDIS_URL")],
        ("EMAIL_URL", "smtp://user:hunter2@host:port"),
        ("DATABASE_URL", "postgres://user:hun?ter2@host/x"),
        ("DATABASE_URL", "//user:hunter2@host/x"),
        ("DATABASE_URL", "postgres://user:hunter2@host:port/x"),
        ("REDIS_URL", "redis+sentinel://:hunter2@host"),
        ("REDIS_URL", "redis://:hunter2@host/0?db=x"),
        ("SECRET_KEY", "hunter2"),
        ("METRICS_TOKEN", "hunter2"),
    ],
)
def test_secrets_are_not_repeated(read, recwarn, name, value):
    with pytest.raises(SystemExit) as stopped:
        read(**{name: value})

    assert "ter2" not in str(stopped.value)
    assert not recwarn.list


@pytest.mark.live
@pytest.mark.parametrize("program", [["manage.py", "check"], ["-m", "gunicorn", "config.wsgi"]])
def test_all_programs_report_an_invalid_variable_by_one_line(tmp_path, program):
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "WEB_THREADS": "many"}
    done = subprocess.run(
        [sys.executable, *program], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert done.stderr.startswith("WEB_THREADS: ")
    assert done.stderr.count("\n") == 1


def test_settings_have_defaults_for_all_variables(read, tmp_path):
    first = read()

    assert (first["PORT"], first["LINKS"], first["SECRET_KEY_FALLBACKS"]) == (8000, {}, [])
    assert len(first["SECRET_KEY"]) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
    assert read()["SECRET_KEY"] == first["SECRET_KEY"]


def test_secret_may_stand_in_a_file(read, tmp_path):
    (tmp_path / "email").write_text("smtp+ssl://user:hunter2secret@mail.test\n")
    (tmp_path / "older").write_text(f"{'x' * 32}, {'y' * 40}\n")
    file = str(tmp_path / "email")
    settings = read(EMAIL_URL_FILE=file, SECRET_KEY_FALLBACKS_FILE=str(tmp_path / "older"))

    assert settings["EMAIL_HOST_PASSWORD"] == "hunter2secret"
    assert settings["SECRET_KEY_FALLBACKS"] == ["x" * 32, "y" * 40]
    with pytest.raises(SystemExit, match="EMAIL_URL_FILE: is set, and so is EMAIL_URL"):
        read(EMAIL_URL_FILE=file, EMAIL_URL="consolemail://")


@pytest.mark.parametrize(
    ("url", "hosts", "expected"),
    [
        ("https://api.example.com", "api.example.com", True),
        ("https://api.example.com", "API.Example.Com", True),
        ("https://api.example.com", ".example.com", True),
        ("https://example.com", ".example.com", True),
        ("https://api.example.com", "*", True),
        ("https://api.example.com:8443", "api.example.com", True),
        ("https://api.example.org", ".example.com", False),
        ("https://badexample.com", ".example.com", False),
        ("https://api.example.com", "example.com", False),
        ("https://api.example.com/app", "*", False),
        ("http://[::1]:8000", "[::1]", True),
        ("http://[::1]:5173", "[::1]", False),
        ("http://localhost:5173", "*", False),
        ("http://127.0.0.1", "127.0.0.1", False),
    ],
)
def test_pages_are_served_where_the_front_end_is_this_service(read, url, hosts, expected):
    assert read(FRONTEND_URL=url, ALLOWED_HOSTS=hosts)["SERVES_PAGES"] is expected


def test_pages_are_served_on_the_default_port(read):
    assert read(PORT="80")["SERVES_PAGES"] is True  # the default address, without `:80`


def test_origins_are_read_as_browsers_write_them(read):
    settings = read(
        CORS_ALLOWED_ORIGINS="https://app.example.com/,HTTPS://App.Example.COM:443,"
        "http://localhost:80, http://[::1]:5173"
    )

    assert settings["CORS_ALLOWED_ORIGINS"] == [
        *["https://app.example.com"] * 2,
        "http://localhost",
        "http://[::1]:5173",
    ]


@pytest.mark.parametrize(
    ("url", "port"),
    [("smtp+ssl://mail.test", 465), ("smtp+tls://mail.test", 587), ("smtp+ssl://h:2465", 2465)],
)
def test_tls_from_the_first_byte_has_its_own_port(read, url, port):
    assert read(EMAIL_URL=url)["EMAIL_PORT"] == port


@pytest.mark.parametrize(
    ("url", "switches"),
    [
        ("smtp+tls://mail.test", (True, False)),
        ("smtps://mail.test", (True, False)),
        ("smtp+ssl://mail.test", (False, True)),
        ("smtp+tls://mail.test:465", (False, True)),
        ("smtps://mail.test:465", (False, True)),
        ("smtp://mail.test:465", (False, True)),
        ("smtp://mail.test:25", (False, False)),
    ],
)
def test_port_of_implicit_tls_means_tls_at_once(read, url, switches):
    settings = read(EMAIL_URL=url)

    assert (settings["EMAIL_USE_TLS"], settings["EMAIL_USE_SSL"]) == switches


def test_plus_in_a_password_is_no_space(read):
    settings = read(
        EMAIL_URL="smtp+tls://a+b:pass+word%2B@mail.test",
        DATABASE_URL="postgres://a+b:pass+word%2B@db.test/name",
    )
    database = settings["DATABASES"]["default"]

    assert (settings["EMAIL_HOST_USER"], settings["EMAIL_HOST_PASSWORD"]) == ("a+b", "pass+word+")
    assert (database["USER"], database["PASSWORD"]) == ("a+b", "pass+word+")


HASHES = [f"{number:040X}" for number in range(100)]


@pytest.mark.parametrize(
    "text",
    ["", "\n".join(HASHES[::-1]), "\n".join(HASHES)[:-9], "\n".join([*HASHES, "ntlm"])],
    ids=["empty", "unsorted", "cut short", "not hashes"],
)
def test_file_of_breached_passwords_is_looked_at(read, tmp_path, text):
    (tmp_path / "hashes").write_text(text)

    with pytest.raises(SystemExit, match=r"^PASSWORD_BREACH_FILE: must be a whole file"):
        read(PASSWORD_BREACH_FILE=str(tmp_path / "hashes"))


def test_same_site_none_needs_secure_cookies(read):
    with pytest.raises(SystemExit, match=r"^COOKIE_SAMESITE: "):
        read(COOKIE_SAMESITE="None", COOKIE_SECURE="false")


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("postgres://u:p@one:5432,two:5433/db?target_session_attrs=any", "one,two", "5432,5433"),
        ("postgres://u:p@one,two/db?disable_server_side_cursors=true", "one,two", ""),
        ("postgres://u:p@one/db?sslmode=verify-full&connect_timeout=3", "one", ""),
    ],
)
def test_several_hosts_and_their_options_are_read(read, url, host, port):
    config = read(DATABASE_URL=url)["DATABASES"]["default"]

    assert (config["HOST"], str(config["PORT"])) == (host, port)
    assert config["DISABLE_SERVER_SIDE_CURSORS"] is ("cursors=true" in url)


def test_address_of_sentinels_is_read(read):
    url = "rediss+sentinel://ada:p%40ss@a:1,[::1],c/MyMaster/2?sentinel_password=w&ssl_ca_certs=/ca"
    servers = read(REDIS_URL=url)["REDIS_SERVERS"]

    assert servers["endpoints"] == [("a", 1), ("::1", 26379), ("c", 26379)]
    assert (servers["service"], servers["options"]["db"]) == ("MyMaster", 2)
    assert (servers["options"]["username"], servers["options"]["password"]) == ("ada", "p@ss")
    assert servers["sentinel_options"] == {"ssl": True, "ssl_ca_certs": "/ca", "password": "w"}


def test_address_of_a_cluster_is_read(read):
    servers = read(REDIS_URL="redis+cluster://:secret@a,b:7001")["REDIS_SERVERS"]

    assert servers["endpoints"] == [("a", 6379), ("b", 7001)]
    assert servers["service"] is None
    assert servers["options"] == {"ssl": False, "password": "secret"}


APP, SERVICE = "https://app.example.com", "https://api.example.com"


@pytest.mark.parametrize(
    ("frontend", "service", "domain", "expected"),
    [
        (None, None, None, ("localhost", ["http://localhost:8000"])),
        (APP, SERVICE, None, ("app.example.com", [APP])),
        (APP, SERVICE, "Example.com", ("example.com", [APP, SERVICE])),
        (f"{APP}/office", SERVICE, "example.com", ("example.com", [APP, SERVICE])),
        ("http://127.0.0.1:8000", None, None, ("", [])),
        ("http://[::1]:8000", None, None, ("", [])),
        ("http://app.example.com", SERVICE, None, ("", [])),  # no browser trusts plain http
    ],
)
def test_passkeys_belong_to_a_domain(read, frontend, service, domain, expected):
    variables = {"FRONTEND_URL": frontend, "SERVICE_URL": service, "PASSKEYS_RP_ID": domain}
    settings = read(**{name: value for name, value in variables.items() if value})

    assert (settings["PASSKEYS_RP_ID"], settings["PASSKEYS_ORIGINS"]) == expected


@pytest.mark.live
def test_commit_is_that_of_the_clone_unless_it_is_given(monkeypatch, tmp_path):
    def git(*words):
        names = ["-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.com"]
        command = ["git", "-C", tmp_path, *names, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    monkeypatch.delenv("COMMIT", raising=False)
    assert environment.commit_of_clone("COMMIT", tmp_path / ".git") == "unknown"
    git("init")
    for message in ("First", "Second"):
        git("commit", "--allow-empty", "-m", message)
        at = git("rev-parse", "--short=12", "HEAD")
        assert environment.commit_of_clone("COMMIT", tmp_path / ".git") == at
    git("checkout", "HEAD~1")
    assert environment.commit_of_clone("COMMIT", tmp_path / ".git") != at
    monkeypatch.setenv("COMMIT", "2.0.0")
    assert environment.commit_of_clone("COMMIT", tmp_path / ".git") == "2.0.0"
