"""docs/install.md with systemd, as an operator follows it on a fresh machine, and what comes after.

The tests follow one another on one machine. In the internet's place are: `certbot`, which makes a
certificate on the spot; a mail server on the host; and /etc/hosts for DNS.
"""

import re
import time

import pytest
from django.conf import settings

from tests.machines.conftest import DOMAIN, Site, put_code
from tests.machines.guide import blocks, section, steps
from tests.machines.machine import Terminal
from tests.machines.people import ACCOUNT, ADA, APT, Load, enter_back_office, is_up, log_in, sign_up
from tests.servers import wait_until

pytestmark = pytest.mark.machines

RELEASE = f"/srv/releases/{settings.VERSION}"  # as the guides name it
NEXT = "/srv/releases/next"

OWNER, SERVICE = "the owner's password", "the service's"
UNITS = "consulting.socket consulting consulting-mail consulting-backup.timer"
UNITS += " nginx postgresql redis-server"
# What the operator types where a command asks.
ROLE = [("new role:", OWNER), ("again:", OWNER), ("new role:", SERVICE), ("again:", SERVICE)]
MIGRATE = ("Password of the owner:", OWNER)
CHANGES = {
    "db.example.com": "127.0.0.1",
    "redis.example.com": "127.0.0.1",
    "api.example.com": DOMAIN,
    "app.example.com": DOMAIN,
    "no-reply@example.com": f"no-reply@{DOMAIN}",
    f"CORS_ALLOWED_ORIGINS=https://{DOMAIN}\n": "",
    "PASSKEYS_RP_ID=example.com": f"PASSKEYS_RP_ID={DOMAIN}",
}


def fill_in(site, changes):
    """Edit the settings, as step 7 tells the operator to."""
    path = site.machine.root / "etc/consulting/environment"
    text = path.read_text()
    text = text.replace("smtp+tls://user:password@mail.example.com:587", site.mailbox.url)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    while (before := "replace-this-by-what-openssl-rand-base64-48-gives-you") in text:
        made = site.machine.run("openssl rand -base64 48").strip()
        text = text.replace(before, made, 1)
    # The tests log in more often than people do.
    path.write_text(f"{text}RATE_LIMIT_CREDENTIAL=300\n")


def install(machine):
    """The service, by the guide's steps."""
    guide = steps("install", "One machine with systemd")
    site, root = Site(machine), Terminal(machine)
    root.type("apt-get update")
    root.type(guide[1][0], APT)
    put_code(machine, RELEASE)
    root.type(guide[2][0])
    root.type(guide[3][0])
    postgres = Terminal(machine)
    postgres.type("runuser -u postgres -- bash")
    postgres.type(guide[4][0], *ROLE)
    root.type(guide[5][0])
    root.type(guide[6][0])
    fill_in(site, CHANGES)
    pgpass = guide[7][0].replace("service:password", f"service:{SERVICE}")
    (machine.root / "etc/consulting/pgpass").write_text(pgpass)
    operator = Terminal(machine)
    operator.type(guide[8][0])
    operator.type(guide[8][1], MIGRATE)
    operator.type(guide[9][0], *ACCOUNT)
    root.type(guide[10][0])
    wait_until(lambda: is_up(site))  # it listens some time after the reload
    return site


@pytest.fixture(scope="module")
def site(new_machine):
    site = install(new_machine("web1"))
    yield site
    site.close()


def test_it_answers(site):
    assert site.health().json()["status"] == "ok"


def test_user_signs_up_and_in_through_nginx(site):
    browser = sign_up(site, ADA)

    assert browser.get("/auth/me").json()["email"] == ADA["email"]
    assert browser.post("/auth/refresh").status_code == 200  # by its cookie
    assert "text/html" in browser.get("/login").headers["Content-Type"]


def test_operator_adds_an_app_and_enters_the_back_office(site):
    enter_back_office(site)


def operators_shell(site):
    terminal = Terminal(site.machine)
    terminal.type(steps("install", "One machine with systemd")[8][0])
    return terminal


def test_status_is_ok(site):
    said = operators_shell(site).type(".venv/bin/python manage.py status")

    assert not re.search("degraded|down", said), said


def test_certificate_is_renewed(site):
    live = site.machine.root / "etc/letsencrypt/live" / DOMAIN / "fullchain.pem"
    before = live.read_text()

    site.machine.run("certbot renew")

    assert live.read_text() != before
    wait_until(lambda: all(is_up(site) for _ in range(20)))  # old ones end late


def main_pid(site, unit):
    return site.machine.run(f"systemctl show --property MainPID --value '{unit}'").strip()


@pytest.mark.parametrize(
    "unit", ["consulting", "consulting-mail", "nginx", "postgresql@*", "redis-server"]
)
def test_killed_part_comes_back(site, unit):
    before = main_pid(site, unit)

    site.machine.run(f"systemctl kill --kill-whom main --signal KILL '{unit}'")

    wait_until(lambda: main_pid(site, unit) not in {"0", before})
    wait_until(lambda: is_up(site))


def test_backup_is_restored(site):
    """What came after it is gone, and users log in again."""
    in_backup, later = ADA | {"email": "bob@example.com"}, ADA | {"email": "eve@example.com"}
    browser = sign_up(site, in_backup)
    site.machine.run("systemctl start consulting-backup")
    old = "cd /var/lib/consulting/backups; touch -d -20days $(seq -f consulting-1%02g.dump 15)"
    kept = site.machine.run(f"{old}; systemctl start consulting-backup; ls").split()
    assert sum("consulting-1" in name for name in kept) == 13  # with the present one 14
    sign_up(site, later)
    of_postgres, of_operator = blocks(section("operations", "Restore"))[:2]
    services = "consulting.socket consulting consulting-mail"

    site.machine.run(f"systemctl stop {services}")
    postgres, operator = Terminal(site.machine), operators_shell(site)
    postgres.type("runuser -u postgres -- bash")
    postgres.type(of_postgres)
    operator.type("dump=$(ls -d /var/lib/consulting/backups/*.dump | tail -n 1)")
    operator.type(of_operator, MIGRATE)
    site.machine.run(f"systemctl start {services}")

    assert browser.get("/auth/me").status_code == 401
    assert log_in(browser, in_backup).status_code == 200
    assert log_in(site.browser(), later).status_code == 401


def test_upgrade_and_back_lose_no_request(site):
    """The next release is this code in another folder."""
    put_code(site.machine, NEXT)
    root, operator = Terminal(site.machine), operators_shell(site)
    install_it = steps("install", "One machine with systemd")[2][0].replace(RELEASE, NEXT)
    root.type("".join(install_it.splitlines(keepends=True)[:2]))
    (upgrade,) = blocks(section("operations", "Host by host, and back"))
    upgrade = upgrade.replace(RELEASE, NEXT)
    # A server restarts in less than 4 s, where nginx gives up. This machine need not.
    patience = "sed -i 's/proxy_read_timeout 4s/proxy_read_timeout 60s/'"
    site.machine.run(f"{patience} /etc/nginx/conf.d/consulting.conf && systemctl reload nginx")
    by_operator, by_root = re.split(r"^(?=ln )", upgrade, flags=re.M)
    browser = site.browser()
    assert log_in(browser, ADA).status_code == 200

    with Load(browser) as load:
        operator.type(by_operator, MIGRATE)
        root.type(by_root)
        wait_until(lambda: running_code(site) == NEXT)
        time.sleep(2)
        root.type(by_root.replace(NEXT, RELEASE))
        time.sleep(2)

    assert running_code(site) == RELEASE
    assert load.answers.keys() == {200}
    assert load.answers[200] > 50


def running_code(site):
    return site.machine.run(f"readlink /proc/{main_pid(site, 'consulting')}/cwd").strip()


def test_everything_comes_back_after_a_reboot(site):
    site.machine.stop()
    site.machine.boot()

    wait_until(lambda: is_up(site))
    assert site.machine.run(f"systemctl is-active {UNITS}").split() == ["active"] * 7
    assert log_in(site.browser(), ADA).status_code == 200
    assert site.machine.run("ls /run/consulting-web/consulting-metrics-*")  # no disk fills it
    site.machine.run("for n in 1 2 3 4 5 6 7; do systemctl restart consulting; done")


def test_changed_database_password_fails_no_request(site):
    change = blocks(section("operations", "Change the database password"))[0]
    pgpass = site.machine.root / "etc/consulting/pgpass"
    postgres, browser = Terminal(site.machine), site.browser()
    postgres.type("runuser -u postgres -- bash")
    assert log_in(browser, ADA).status_code == 200

    with Load(browser) as load:
        postgres.type(change, ("new password", "another"), ("again:", "another"))
        pgpass.write_text(pgpass.read_text().replace(SERVICE, "another"))
        time.sleep(2)
    site.machine.run("systemctl restart postgresql")  # ends the connections

    assert load.answers.keys() == {200}
    wait_until(lambda: is_up(site))
    assert log_in(browser, ADA).status_code == 200
