"""Settings of the service: first the environment variables, then Django's settings."""

import tomllib
from pathlib import Path
from typing import Any

from corsheaders.defaults import default_headers
from psycopg import IsolationLevel
from redis.backoff import NoBackoff
from redis.retry import Retry

from config import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text("utf-8"))["project"]["version"]
COMMIT = env.commit_of_clone("COMMIT", BASE_DIR / ".git")

# ---- The environment -------------------------------------------------------------------------

PORT = env.read_integer("PORT", 8000, high=65535)
BIND = env.read("BIND", "127.0.0.1", env.ADDRESS)
WEB_CONCURRENCY = env.read_integer("WEB_CONCURRENCY", 1, high=256)
WEB_THREADS = env.read_integer("WEB_THREADS", 96, high=256)
HASHES_AT_A_TIME = env.read_integer("HASHES_AT_A_TIME", 0, low=0, high=256)  # see signin.capacity
DATA_DIR = Path(env.read("DATA_DIR", f"{BASE_DIR / 'var'}", env.TEXT)).expanduser().absolute()
SECRET_KEY = env.secret_key("SECRET_KEY", DATA_DIR / "secret_key")
SECRET_KEY_FALLBACKS = env.read("SECRET_KEY_FALLBACKS", "", env.SECRETS)
METRICS_TOKEN = env.read("METRICS_TOKEN", "", env.BEARER_TOKEN)
LOG_FORMAT = env.read_choice("LOG_FORMAT", "text", ["text", "json"])
SENTRY_DSN = env.read("SENTRY_DSN", "", env.DSN)
SILENCED_SYSTEM_CHECKS = env.read("SILENCED_SYSTEM_CHECKS", "", env.WARNINGS)

DATABASE = env.read("DATABASE_URL", f"sqlite:///{DATA_DIR / 'db.sqlite3'}", env.DATABASE_ADDRESS)
REDIS_URL, REDIS_SERVERS = env.read(
    "REDIS_URL", "", env.REDIS_ADDRESS
)  # REDIS_SERVERS: None for one or none
email = env.read("EMAIL_URL", "consolemail://", env.MAIL_SERVER)
EMAIL_BACKEND, EMAIL_FILE_PATH = email["EMAIL_BACKEND"], email["EMAIL_FILE_PATH"]
EMAIL_HOST, EMAIL_PORT = email["EMAIL_HOST"], email["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = email["EMAIL_HOST_USER"], email["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = email["EMAIL_USE_TLS"], email["EMAIL_USE_SSL"]
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = env.read("DEFAULT_FROM_EMAIL", "no-reply@localhost", env.SENDER)

FRONTEND_URL = env.read("FRONTEND_URL", f"http://localhost:{PORT}", env.URL)
SERVICE_URL = env.read("SERVICE_URL", f"http://127.0.0.1:{PORT}", env.ORIGIN)
ALLOWED_HOSTS = env.read("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", env.HOSTS)
# The built-in pages stand in for a front-end while FRONTEND_URL leads to this service itself.
SERVES_PAGES = env.is_own_url(FRONTEND_URL, ALLOWED_HOSTS, PORT)
CORS_ALLOWED_ORIGINS = env.read("CORS_ALLOWED_ORIGINS", "", env.ORIGINS)
TRUSTED_PROXY_COUNT = env.read_integer("TRUSTED_PROXY_COUNT", 0, low=0, high=16)
COOKIE_SECURE = env.read("COOKIE_SECURE", "true", env.BOOLEAN)
COOKIE_SAMESITE = env.read_choice("COOKIE_SAMESITE", "Lax", ["Lax", "Strict", "None"])
if COOKIE_SAMESITE == "None" and not COOKIE_SECURE:
    env.refuse_start(
        "COOKIE_SAMESITE", "None requires COOKIE_SECURE=true, or browsers drop the cookie"
    )
AFTER_SIGNIN_URL = env.read("AFTER_SIGNIN_URL", "", env.HTTPS_LINK)
LINKS = {  # shown on every page and in every mail
    "terms": env.read("LINKS_TERMS", "", env.HTTPS_LINK),
    "privacy": env.read("LINKS_PRIVACY", "", env.HTTPS_LINK),
    "help": env.read("LINKS_HELP", "", env.HTTPS_LINK),
    "imprint": env.read("LINKS_IMPRINT", "", env.HTTPS_LINK),
}
LINKS = {name: url for name, url in LINKS.items() if url}

ACCESS_TOKEN_SECONDS = env.read_integer("ACCESS_TOKEN_SECONDS", 3600)
REFRESH_TOKEN_SECONDS = env.read_integer("REFRESH_TOKEN_SECONDS", 86400)
SESSION_MAX_SECONDS = env.read_integer("SESSION_MAX_SECONDS", 2592000)
JWT_ISSUER = env.read("JWT_ISSUER", "consulting-management", env.TEXT)
JWT_LEEWAY_SECONDS = env.read_integer("JWT_LEEWAY_SECONDS", 5, low=0, high=300)
PASSWORD_MIN_LENGTH = env.read_integer("PASSWORD_MIN_LENGTH", 8, low=8, high=64)
PASSWORD_REJECT_COMMON = env.read("PASSWORD_REJECT_COMMON", "true", env.BOOLEAN)
PASSWORD_BREACH_FILE = env.read("PASSWORD_BREACH_FILE", "", env.BREACH_FILE)
PASSKEYS_RP_ID, PASSKEYS_ORIGINS = env.passkey_domain("PASSKEYS_RP_ID", FRONTEND_URL, SERVICE_URL)
STAFF_SECOND_FACTOR = env.read("STAFF_SECOND_FACTOR", "false", env.BOOLEAN)
SSO_SESSION_SECONDS = env.read_integer("SSO_SESSION_SECONDS", 43200)
SSO_PRIVATE_ISSUERS = env.read("SSO_PRIVATE_ISSUERS", "", env.HTTPS_ORIGINS)
DNS_SERVERS = env.read("DNS_SERVERS", "", env.NAME_SERVERS)  # empty: the machine's
ASSISTANTS = env.read("ASSISTANTS", "true", env.BOOLEAN)
ASSISTANT_METADATA_DOCUMENTS = env.read("ASSISTANT_METADATA_DOCUMENTS", "true", env.BOOLEAN)
ASSISTANT_REDIRECT_SCHEMES = env.read("ASSISTANT_REDIRECT_SCHEMES", "", env.PRIVATE_SCHEMES)

RATE_LIMIT_AUTHENTICATED = env.read_integer("RATE_LIMIT_AUTHENTICATED", 300)
RATE_LIMIT_PUBLIC = env.read_integer("RATE_LIMIT_PUBLIC", 300)
RATE_LIMIT_CREDENTIAL = env.read_integer("RATE_LIMIT_CREDENTIAL", 10)
RATE_LIMIT_CHECK = env.read_integer("RATE_LIMIT_CHECK", 3000)
RATE_LIMIT_SCIM = env.read_integer("RATE_LIMIT_SCIM", 1800)
RATE_LIMIT_DRY_RUN = env.read("RATE_LIMIT_DRY_RUN", "", env.LENIENT_TIERS)
RATE_LIMIT_WINDOW_SECONDS = env.read_integer("RATE_LIMIT_WINDOW_SECONDS", 60, high=86400)
LIMITER_PROCESSES = env.read_integer("LIMITER_PROCESSES", 0, low=0)  # 0: WEB_CONCURRENCY
LOCKOUT_THRESHOLD = env.read_integer("LOCKOUT_THRESHOLD", 5)
LOCKOUT_SECONDS = env.read_integer("LOCKOUT_SECONDS", 900, high=30 * 86400)
DEVICE_LOCKOUT = env.read("DEVICE_LOCKOUT", "false", env.BOOLEAN)

SIGNUP_LINK_SECONDS = env.read_integer("SIGNUP_LINK_SECONDS", 86400)
INVITATION_SECONDS = env.read_integer("INVITATION_SECONDS", 604800)
PASSWORD_CHANGE_SECONDS = env.read_integer("PASSWORD_CHANGE_SECONDS", 3600)
MAIL_PER_ADDRESS_PER_HOUR = env.read_integer("MAIL_PER_ADDRESS_PER_HOUR", 5)
INVITATIONS_PER_DAY = env.read_integer("INVITATIONS_PER_DAY", 200)
AUDIT_KEEP_DAYS = env.read_integer("AUDIT_KEEP_DAYS", 400, low=31, high=36500)
MISSPELT_NAMES = env.misspelt_names()
env.refuse_removed_names()

# ---- Django ----------------------------------------------------------------------------------

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"  # `runserver` loads the keys by it
INSTALLED_APPS = [
    "pages",  # before the admin, whose translations would take precedence
    "backoffice",  # before the admin, whose templates it extends
    "backoffice.apps.SiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "corsheaders",
    "drf_spectacular_sidecar",
]
INSTALLED_APPS += ["base", "audit", "throttling", "mail", "api", "worker", "keys", "accounts"]
INSTALLED_APPS += ["signin", "invitations", "passwords", "emailchanges", "sso", "assistants"]
INSTALLED_APPS += ["apikeys", "scim", "privacy"]
MIDDLEWARE = [
    "config.middleware.CallerMiddleware",  # first: all others may log
    "config.middleware.AccessLogMiddleware",
    "config.middleware.HeadersMiddleware",
    "signin.cookies.TrustedCookiesMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.StaticFilesMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "backoffice.middleware.BackOfficeMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
# Django's other storages sign a cookie, and creating the signer costs every request.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("sv", "Svenska")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "config.formats"
# The files' paths change with their contents, so browsers keep them for good. A folder rather than
# hashed names, because scripts import one another by relative paths.
STATIC_URL = f"/static/{env.digest_static_files(BASE_DIR, 'Django', 'drf-spectacular-sidecar')}/"
WHITENOISE_USE_FINDERS = True  # no copies, which a cleaner of temporary files would delete
WHITENOISE_IMMUTABLE_FILE_TEST = STATIC_URL
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024
# A proxy redirects to HTTPS; HSTS for subdomains and preload lists is the domain owner's decision.
SILENCED_SYSTEM_CHECKS += ["security.W008", "security.W005", "security.W021"]
# BackOfficeMiddleware does the work of the middleware that the admin site needs.
SILENCED_SYSTEM_CHECKS += ["admin.E408", "admin.E409", "admin.E410"]

# ---- Database and Redis ----------------------------------------------------------------------
# The service gives up a host that does not answer after two seconds. config.wsgi adds the settings
# of requests (DATABASE_OF_REQUESTS).

DATABASES = {"default": DATABASE | {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}}
DATABASE_OF_REQUESTS: dict[str, Any] = {}
if DATABASE["ENGINE"] == "django.db.backends.postgresql":
    DATABASES["default"]["ENGINE"] = "config.postgresql"
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 2,  # seconds
        "tcp_user_timeout": 2000,  # milliseconds
        "keepalives_idle": 2,  # seconds
        "keepalives_interval": 1,  # seconds
        "application_name": "consulting",
        "target_session_attrs": "read-write",  # of several hosts, the one to write to
        # Whatever the role's default: in a stricter level one of two concurrent counts would fail.
        "isolation_level": IsolationLevel.READ_COMMITTED,
    } | DATABASE["OPTIONS"]
    # How long requests wait for an answer, in milliseconds, and for a free connection, in seconds.
    # Behind a pooler in transaction mode TIMEOUTS would apply to other clients' statements as well.
    TIMEOUTS = "-c statement_timeout=3000 -c idle_in_transaction_session_timeout=10000"
    POOL = {"min_size": 1, "max_size": 8, "timeout": 1.5, "reconnect_timeout": 2}
    OPTIONS = DATABASES["default"]["OPTIONS"] | {"pool": POOL}
    if not DATABASE["DISABLE_SERVER_SIDE_CURSORS"]:
        OPTIONS["options"] = f"{OPTIONS.get('options', '')} {TIMEOUTS}".strip()
    DATABASE_OF_REQUESTS = {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "OPTIONS": OPTIONS}
else:
    Path(DATABASE["NAME"]).parent.mkdir(parents=True, exist_ok=True)
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    } | DATABASE["OPTIONS"]

REDIS_CONNECTION = {  # redis-py's options for the limiter
    "socket_connect_timeout": 0.1,  # seconds
    "socket_timeout": 0.1,  # seconds
    # No retries: a repeated command may count a request twice.
    "retry": Retry(NoBackoff(), 0),
    # No HELLO or CLIENT SETINFO: a new connection may wait 0.1 s for each answer.
    "protocol": 2,
    "driver_info": None,
    # CLIENT SETNAME makes a new connection read a TLS server's session tickets, which redis-py
    # would otherwise take for data left by another command.
    "client_name": "consulting" if REDIS_URL.startswith("rediss") else None,
}
if REDIS_URL and not REDIS_SERVERS:
    CACHE = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": REDIS_URL}
    CACHES = {"default": CACHE | {"OPTIONS": {"CONNECTION_POOL_KWARGS": REDIS_CONNECTION}}}

# ---- People, passwords, tokens ---------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["signin.backends.EmailBackend"]
PASSWORD_HASHERS = ["signin.hashers.OwaspArgon2PasswordHasher"]
PASSWORD_RULES = ["LengthRule"]
PASSWORD_RULES += ["CommonPasswordRule", "PersonalPasswordRule"] if PASSWORD_REJECT_COMMON else []
PASSWORD_RULES += ["BreachedPasswordRule"] if PASSWORD_BREACH_FILE else []
AUTH_PASSWORD_VALIDATORS = [{"NAME": f"accounts.validators.{rule}"} for rule in PASSWORD_RULES]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"  # instead of a `next` on another site
SIMPLE_JWT = {"ALGORITHM": "RS256"}  # accounts.tokens extends simplejwt's Token and TokenBackend

# ---- Cookies, CORS and what a proxy says -------------------------------------------------------

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = COOKIE_SECURE
CORS_ALLOW_CREDENTIALS = True
# Tracing libraries send the first four (W3C Trace Context and Baggage, Sentry), MCP clients in
# browsers the last three.
CORS_ALLOW_HEADERS = [*default_headers, "traceparent", "tracestate", "baggage", "sentry-trace"]
CORS_ALLOW_HEADERS += ["x-request-id", "mcp-protocol-version", "mcp-method", "mcp-name"]
CORS_EXPOSE_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
CORS_EXPOSE_HEADERS += ["retry-after", "x-request-id", "www-authenticate"]
SECURE_HSTS_SECONDS = 31536000  # sent only for requests by HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXY_COUNT else None

# ---- API -------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["apikeys.authentication.KeyAuthentication"],
    "DEFAULT_PAGINATION_CLASS": "api.pagination.NumberedPagination",
    "EXCEPTION_HANDLER": "api.errors.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "api.schema.Schema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Consulting management",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "COMPONENT_SPLIT_REQUEST": True,  # required fields differ between requests and answers
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,  # it would repeat each value
    "DESCRIPTION": (BASE_DIR / "config/schema.md").read_text("utf-8"),
    "SERVERS": [{"url": SERVICE_URL}],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enum_id_removal"],
}

# ---- Logs ------------------------------------------------------------------------------------

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "config.logs.TextFormatter"},
        "json": {"()": "config.logs.JSONFormatter"},
    },
    "filters": {"without_request_text": {"()": "config.logs.WithoutRequestText"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # Django's own handlers and levels would log each 4xx as a warning, with its path.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"level": "CRITICAL"},  # api.errors logs failures
        "django.security": {"level": "CRITICAL"},
        "django.server": {"level": "CRITICAL"},  # runserver's lines hold queries and fragments
        "fido2": {"level": "WARNING"},  # otherwise it logs each used passkey
        "gunicorn.error": {"filters": ["without_request_text"], "propagate": True},
        "gunicorn.http.wsgi": {"level": "ERROR"},  # warns of each HEAD, whose body it drops
    },
}
if SENTRY_DSN:
    from config import sentry

    sentry.start_reporting(SENTRY_DSN, f"{VERSION}+{COMMIT}")
