"""The container files name what is there. `make test-machines` builds and runs the image."""

import json
import os
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from config import settings
from mail.smtp import ANSWER_SECONDS
from tests.config.settings_table import declared

pytestmark = pytest.mark.deploy

CONTAINERFILE = Path("deploy/Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(Path("deploy/compose.yaml").read_text(encoding="utf-8"))
OBJECTS = list(yaml.safe_load_all(Path("deploy/kubernetes.yaml").read_text(encoding="utf-8")))
PODS = {
    thing["metadata"]["name"]: thing["spec"]["template"]["spec"]
    for thing in OBJECTS
    if "template" in thing.get("spec", {})
}
OURS = {name: made for name, made in COMPOSE["services"].items() if "build" in made}
DOTENV = Path("deploy/compose.env").read_text(encoding="utf-8")
SETTINGS = {
    name: value.strip("'") for name, value in re.findall(r"^(\w+)=(.*)$", DOTENV, re.MULTILINE)
}
IMAGE_ENVIRONMENT = dict(re.findall(r"^ENV (\w+)=(\S+)$", CONTAINERFILE, re.MULTILINE))
COMMAND = json.loads(re.search(r"^CMD (\[.*)$", CONTAINERFILE, re.MULTILINE)[1])
HEALTH_CHECK = json.loads(re.search(r"^HEALTHCHECK .* CMD (\[.*)$", CONTAINERFILE, re.MULTILINE)[1])
IGNORED = Path(".dockerignore").read_text(encoding="utf-8").splitlines()
COPIED = [
    path.name
    for path in Path().iterdir()
    if not any(fnmatch(path.name, pattern.removeprefix("**/")) for pattern in IGNORED)
]


def config_map():
    [found] = [thing["data"] for thing in OBJECTS if thing["kind"] == "ConfigMap"]
    return found


@pytest.mark.parametrize(
    "environment",
    [IMAGE_ENVIRONMENT, config_map(), SETTINGS, OURS["web"]["environment"]],
    ids=["image", "pods", "compose.env", "compose.yaml"],
)
def test_variables_are_settings(environment):
    known = set(declared())
    secrets = "SECRET_KEY SECRET_KEY_FALLBACKS DATABASE_URL REDIS_URL EMAIL_URL METRICS_TOKEN"
    known |= {f"{name}_FILE" for name in secrets.split()}
    known |= {"PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "DOMAIN"}

    assert set(environment) - known == set()
    assert not {"SECRET_KEY", "DATABASE_URL", "REDIS_URL"} & set(environment)
    assert all(isinstance(value, str) for value in environment.values())


def test_docker_compose_reads_the_file(tmp_path):
    """Its own parser, where it is installed; it asks no daemon for this."""
    if not (program := shutil.which("docker-compose")):
        return
    shutil.copy("deploy/compose.yaml", tmp_path)
    command = [program, "config"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    (tmp_path / ".env").write_text(DOTENV)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "DOMAIN" in refused.stderr or ".env" in refused.stderr
    assert (done.returncode, done.stderr) == (0, "")
    read = yaml.safe_load(done.stdout)["services"]
    assert SETTINGS.items() <= read["web"]["environment"].items()
    assert read["nginx"]["environment"] == {"DOMAIN": "api.example.com"}
    kept = [made for made in read.values() if "profiles" not in made]
    assert all(made["mem_limit"] and made["logging"]["options"] for made in kept)


def test_image_holds_the_whole_service():
    apps = {path.parent.name for path in Path().glob("*/__init__.py")} - {"benchmarks", "tests"}
    programs = {"manage.py", "gunicorn.conf.py", "pyproject.toml", "requirements.txt"}

    assert set(COPIED) == apps | programs | {"templates", "locale"}


def test_guides_and_files_name_this_release_alone():
    guides = [Path("docs/install.md"), Path("docs/operations.md")]
    files = [path for path in Path("deploy").iterdir() if path.is_file()]
    text = "".join(path.read_text(encoding="utf-8") for path in guides + files)
    versions = re.findall(r"(?:releases/|consulting:|consulting-migrate-)(\d[\d.]*\d)", text)

    assert set(versions) == {settings.VERSION}, "a guide or a file of deploy/ names another release"


def test_secrets_are_mounted_where_they_are_looked_for():
    for service in OURS.values():
        files = [v for k, v in service["environment"].items() if k.endswith("_FILE")]
        files += re.findall(r"_FILE=(\S+)", " ".join(service["command"]))
        assert files == [f"/run/secrets/{name}" for name in service["secrets"]]
    used = {name for made in COMPOSE["services"].values() for name in made.get("secrets", [])}
    assert used == set(COMPOSE["secrets"])
    for pod in PODS.values():
        [container] = pod["containers"]
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        files = [v for k, v in config_map().items() if k.endswith("_FILE")]
        files += [variable["value"] for variable in container.get("env", [])]
        assert mounts == {"/tmp", *(str(Path(path).parent) for path in files)}


def test_secrets_are_made_once(tmp_path):
    command = ["sh", "deploy/make-secrets.sh", str(tmp_path)]
    subprocess.run(command, check=True)
    files = {path.name: path.read_text().strip() for path in tmp_path.iterdir()}
    subprocess.run(command, check=True)

    assert files.keys() == COMPOSE["secrets"].keys()
    assert files == {path.name: path.read_text().strip() for path in tmp_path.iterdir()}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o444}
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert len(files["secret_key"]) == 72
    assert f"consulting:{files['postgres_password']}@postgres:" in files["database_url"]
    assert f"_service:{files['service_password']}@postgres:" in files["service_url"]
    _, _, redis = files["redis_conf"].partition(" ")
    assert f":{redis}@redis:" in files["redis_url"]


def test_only_migrations_know_the_owner_of_the_tables():
    """It could change the audit log."""
    owners = {"database_url", "postgres_password"}
    knowing = {
        name for name, made in COMPOSE["services"].items() if owners & {*made.get("secrets", [])}
    }
    assert knowing == {"setup", "rights", "postgres"}
    mounting = {name for name, pod in PODS.items() if "consulting-owner" in str(pod)}
    assert mounting == PODS.keys() - {"consulting-web", "consulting-mail"}


def test_worker_that_is_stopped_may_await_the_answer_to_a_mail():
    """Else the mail is sent again."""
    unit = Path("deploy/consulting-mail.service").read_text(encoding="utf-8")
    seconds = {
        int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1]),
        int(OURS["mail"]["stop_grace_period"].removesuffix("s")),
        PODS["consulting-mail"]["terminationGracePeriodSeconds"],
    }

    assert min(seconds) > ANSWER_SECONDS


def test_nobody_has_rights_or_a_tree_to_write_to():
    assert re.search(r"^USER 10001$", CONTAINERFILE, re.MULTILINE)
    for service in OURS.values():
        assert (service["read_only"], service["tmpfs"]) == (True, ["/tmp"])
        assert service["cap_drop"] == ["ALL"]
    for pod in PODS.values():
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_sockets_and_ports_meet():
    """gunicorn's, the image's, nginx's and the pods'."""
    site = Path("deploy/nginx.conf").read_text(encoding="utf-8")
    upstream = re.search(r"^    server (unix:(.+)/\S+) ", site, re.MULTILINE)
    [web] = PODS["consulting-web"]["containers"]

    assert upstream[1] in OURS["web"]["command"]
    assert f"socket:{upstream[2]}" in COMPOSE["services"]["web"]["volumes"]
    assert f"socket:{upstream[2]}:nocopy" in COMPOSE["services"]["nginx"]["volumes"]
    assert f"/{upstream[2].strip('/')}\n" in CONTAINERFILE
    assert f"EXPOSE {web['ports'][0]['containerPort']}\n" in CONTAINERFILE
    assert web["ports"][0]["containerPort"] == 8000  # PORT's default


@pytest.mark.parametrize("has_ipv6", [True, False])
def test_nginx_listens_where_the_kernel_lets_it(tmp_path, has_ipv6):
    """nginx.sh, with the folders of this test in place of the image's."""
    kernel, site = tmp_path / "if_inet6", tmp_path / "site"
    script = Path("deploy/nginx.sh").read_text(encoding="utf-8")
    replacements = {
        "/etc/nginx/conf.d/default.conf": str(site),
        "/proc/net/if_inet6": str(kernel),
        " /nginx.conf": " deploy/nginx.conf",
        "\nln ": "\n: ln ",
        "\nexec nginx": "\n: nginx",
    }
    for text, replacement in replacements.items():
        assert script.count(text) == 1, text  # else it would run with the folders of this machine
        script = script.replace(text, replacement)
    if has_ipv6:
        kernel.touch()
    environment = {"PATH": os.environ["PATH"], "DOMAIN": "login.test"}
    subprocess.run(["sh", "-c", script], check=True, env=environment)

    listening = re.findall(r"^ *listen (\S+);$", site.read_text(), re.MULTILINE)
    assert listening == ["80", "[::]:80"][: 1 + has_ipv6]  # without a certificate no 443


def test_limit_is_divided_by_the_number_of_processes():
    replicas = {
        made["metadata"]["name"]: made["spec"]["replicas"]
        for made in OBJECTS
        if made["kind"] == "Deployment"
    }

    assert config_map()["LIMITER_PROCESSES"] == str(replicas["consulting-web"])
    assert SETTINGS["LIMITER_PROCESSES"] == SETTINGS["WEB_CONCURRENCY"]


def test_pods_run_what_compose_runs():
    """Which `make test-machines` runs."""
    web, mail, migrate = (
        PODS[name]["containers"][0]["command"]
        for name in ("consulting-web", "consulting-mail", f"consulting-migrate-{settings.VERSION}")
    )

    assert (web, mail) == (COMMAND, OURS["mail"]["command"])
    assert migrate == OURS["setup"]["command"][-3:]


def test_selectors_find_the_pods():
    labels = [
        thing["spec"]["template"]["metadata"]["labels"]
        for thing in OBJECTS
        if "template" in thing.get("spec", {})
    ]
    for thing in OBJECTS:
        selector = thing.get("spec", {}).get("selector") or {}
        selector = selector.get("matchLabels", selector)
        assert any(selector.items() <= pod.items() for pod in labels), thing["kind"]


def test_health_check_of_the_image_tells_whether_the_service_answers(new_service):
    service = new_service()
    before = service.spawn(*HEALTH_CHECK[1:]).wait(20)
    service.start()

    assert (before, service.spawn(*HEALTH_CHECK[1:]).wait(20)) == (1, 0)
