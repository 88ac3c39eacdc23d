"""docs/install.md with containers, followed on a fresh machine with Debian's Docker.

In the internet's place are: stand-ins for the images, `certbot`, a mail server on the host, and
/etc/hosts for DNS. The program `editor` fills in what the operator would.
"""

import re
from pathlib import Path

import pytest
import yaml

from tests.machines.conftest import DOMAIN, Site, put_code
from tests.machines.guide import blocks, section, spans, steps
from tests.machines.images import build_images
from tests.machines.machine import Terminal, fresh_debian
from tests.machines.people import (
    ACCOUNT,
    ADA,
    APT,
    Load,
    enter_back_office,
    is_up,
    log_in,
    sign_up,
)
from tests.releases.code import RELEASE_3_0_0, unpack
from tests.servers import wait_until

pytestmark = pytest.mark.machines

# What a Docker daemon may do, a machine of nspawn may not by default.
DOCKER = ["--capability=all", "--system-call-filter=@keyring bpf"]
if Path("/sys/fs/cgroup/memory").exists():
    DOCKER.append("--bind=/sys/fs/cgroup:/cgroup1")
# Of version 1, from the host, where those of version 2 limit nothing. The daemon's mounts are its
# own then, so containerd has to be, too.
CGROUPS = """[Service]
BindPaths=-/cgroup1:/sys/fs/cgroup:rbind
ExecStart=
ExecStart=/usr/sbin/dockerd -H fd://
"""
GUIDE = "One machine with containers"
EDITOR = """#!/bin/sh
sed -i "s#^EMAIL_URL=.*#EMAIL_URL={mailbox}#; s#<no-reply@example.com>#<no-reply@{domain}>#" "$1"
echo RATE_LIMIT_CREDENTIAL=300 >> "$1"  # the tests log in more often than people do
"""


@pytest.fixture(scope="module")
def site(new_machine, folder):
    machine = new_machine("docker1", *DOCKER, release="trixie")
    machine.write("/etc/systemd/system/docker.service.d/cgroups.conf", CGROUPS)
    machine.run("systemctl mask containerd")
    site, root = Site(machine), Terminal(machine)
    root.type("apt-get update")
    root.type("apt-get install docker.io docker-compose certbot", APT)
    build_images(machine, fresh_debian("trixie", folder))
    put_code(machine, "/srv/consulting")
    machine.write("/usr/bin/editor", EDITOR.format(mailbox=site.mailbox.url, domain=DOMAIN))
    machine.run("chmod 755 /usr/bin/editor")
    root.type("cd /srv/consulting/deploy")
    guide = steps("install", GUIDE)
    for number in (1, 2, 3, 4, 5, 6):
        root.type(guide[number][0])
    root.type(guide[7][0], *ACCOUNT)
    wait_until(lambda: is_up(site))
    site.root = root
    yield site
    site.close()


def test_people_sign_up_and_in(site):
    browser = sign_up(site, ADA)

    assert browser.get("/auth/me").json()["email"] == ADA["email"]
    assert browser.post("/auth/refresh").status_code == 200
    enter_back_office(site)


def test_status_is_ok(site):
    said = site.root.type("docker compose run --rm setup python manage.py status")

    assert not re.search("degraded|down", said), said


def test_certificate_is_renewed(site):
    site.machine.run("certbot renew")

    wait_until(lambda: all(is_up(site) for _ in range(20)))  # old ones end late


def test_upgrade_refuses_no_client(site):
    """Until the new processes serve, nginx says so itself."""
    with (site.machine.root / "srv/consulting/config/__init__.py").open("a") as changed:
        changed.write("# another image\n")
    before = site.machine.run("docker inspect deploy-web-1 --format {{.Image}}")
    browser = site.browser()
    assert log_in(browser, ADA).status_code == 200

    with Load(browser) as load:
        site.root.type(steps("install", GUIDE)[9][0])
        wait_until(lambda: is_up(site))

    assert site.machine.run("docker inspect deploy-web-1 --format {{.Image}}") != before
    assert load.answers.keys() <= {200, 503}, load.answers


def test_backup_is_restored(site):
    later = ADA | {"email": "eve@example.com"}
    site.root.type(steps("install", GUIDE)[8][0])
    sign_up(site, later)
    restore = blocks(section("operations", "Restore"))[2]

    site.root.type(re.sub(r"consulting-[\d-]+\.dump", "consulting-$(date +%F).dump", restore))
    site.root.type("docker compose start web mail")

    wait_until(lambda: is_up(site))
    assert log_in(site.browser(), ADA).status_code == 200
    assert log_in(site.browser(), later).status_code == 401


def run_sql(site, statement):
    """What the statement says, as the role of `web`, and in its container."""
    code = f'from django.db import connection; connection.cursor().execute("{statement}")'
    shell = f"docker exec deploy-web-1 python manage.py shell -c '{code}'"
    return site.machine.run(shell, check=False)


def assert_audit_log_is_safe(site):
    """Against those that serve; which role that is, their connections tell."""
    clients = "SELECT DISTINCT usename FROM pg_stat_activity WHERE client_addr IS NOT NULL"
    psql = f"docker exec deploy-postgres-1 psql -U consulting -Atc '{clients}'"

    assert site.machine.run(psql).split() == ["consulting_service"]
    denied = "permission denied for table audit_record"
    assert denied in run_sql(site, "UPDATE audit_record SET kind = kind")
    assert denied in run_sql(site, "TRUNCATE audit_record")
    assert "must be owner" in run_sql(site, "ALTER TABLE audit_record DISABLE TRIGGER ALL")


def test_services_cannot_change_the_audit_log(site):
    assert_audit_log_is_safe(site)


def test_database_passwords_are_changed(site):
    text = section("operations", "Change the database password")
    secrets = site.machine.root / "srv/consulting/deploy/secrets"
    before = (secrets / "service_password").read_text()

    site.root.type(blocks(text)[1])

    assert (secrets / "service_password").read_text() != before
    wait_until(lambda: is_up(site))
    assert log_in(site.browser(), ADA).status_code == 200

    [change] = [command for command in spans(text) if command.startswith("docker")]
    before = (secrets / "postgres_password").read_text().strip()
    site.root.type(change, ("new password", "another"), ("again:", "another"))
    for name in re.findall(r"secrets/(\w+)", text.partition("For the owner")[2]):
        path = secrets / name
        path.write_text(path.read_text().replace(before, "another"))
    site.root.type(steps("install", GUIDE)[9][0])  # migrates, as the owner

    wait_until(lambda: is_up(site))


def test_services_come_back_after_the_daemon_was_killed(site):
    """`unless-stopped` keeps them down then."""
    names = "deploy-{web,mail,nginx,postgres,redis}-1"

    def read_starts():
        said = site.machine.run(f"docker inspect {names} --format {{{{.State.StartedAt}}}}", False)
        return {*re.findall(r"^\d{4}-\S+Z$", said, re.MULTILINE)}

    before = read_starts()

    site.machine.run("systemctl kill --kill-whom main --signal KILL docker")

    wait_until(lambda: len(read_starts() - before) == 5, pause=1)
    wait_until(lambda: is_up(site))
    assert log_in(site.browser(), ADA).status_code == 200


def images(site):
    """The names of the images in the machine's compose.yaml, by service."""
    compose = (site.machine.root / "srv/consulting/deploy/compose.yaml").read_text()
    return {name: made["image"] for name, made in yaml.safe_load(compose)["services"].items()}


def test_volume_of_3_0_0_is_upgraded(site):
    site.root.type("docker compose down --volumes; cd /")
    new = images(site)
    site.machine.run("rm -r /srv/consulting")
    unpack(RELEASE_3_0_0, site.machine.root / "srv/consulting")
    for name, old in images(site).items():
        site.machine.run(f"docker tag {new[name]} {old}")
    guide = steps("install", GUIDE)
    site.root.type("cd /srv/consulting/deploy")
    for number in (1, 2, 3):
        site.root.type(guide[number][0])
    wait_until(lambda: is_up(site))
    site.mailbox.mails.clear()  # the link of the sign-up before
    sign_up(site, ADA)

    put_code(site.machine, "/srv/consulting")
    site.root.type(guide[9][0])
    site.root.type(next(it for it in spans(section("install", GUIDE)) if "recreate nginx" in it))

    wait_until(lambda: is_up(site))
    assert log_in(site.browser(), ADA).status_code == 200
    site.root.type(guide[5][0])  # fails for a role that can change the audit log
    assert_audit_log_is_safe(site)


LIMITS = """
from signin.capacity import count_hash_slots, read_cgroups
limits = [*read_cgroups("memory.max"), *read_cgroups("memory.limit_in_bytes")]
quotas = [*read_cgroups("cpu.max"), *read_cgroups("cpu.cfs_quota_us", "cpu.cfs_period_us")]
print(min(limits), [200000, 100000] in quotas, count_hash_slots(1, 32))
"""


def test_container_knows_its_cores_and_memory(site):
    image = yaml.safe_load(Path("deploy/compose.yaml").read_text())["services"]["web"]["image"]
    run = f"docker run --rm --memory 384m --cpus 2 {image} python -c '{LIMITS}'"

    assert site.machine.run(run).split() == [f"[{384 * 1024**2}]", "True", "2"]


def test_everything_comes_back_after_a_reboot(site):
    site.machine.stop()
    site.machine.boot()

    wait_until(lambda: is_up(site))
    assert log_in(site.browser(), ADA).status_code == 200
