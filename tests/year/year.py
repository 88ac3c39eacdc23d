"""How a year passes: its days and months' ends; what happens in which month is the tests'."""

import contextlib
import copy
import time
from datetime import UTC, datetime, timedelta

import jwt

from keys.published import LOOK_SECONDS
from tests.conftest import query
from tests.year import releases, strangers, tables
from tests.year.clock import Clock
from tests.year.people import Assistant, accepts, signs_up
from tests.year.places import POLITE, Places, host_is_well
from tests.year.post import wait_until
from tests.year.watch import Watch

MORNING = timedelta(hours=7)
BEGIN = datetime(2027, 1, 1, tzinfo=UTC) + MORNING
BACKUP_WEEKDAY = 6  # Sunday


class Year:
    """Two hosts, their people, and what everybody should be able to do at any moment."""

    def __init__(self, folder, servers_folder):
        self.folder, self.clock = folder, Clock(servers_folder)
        self.clock.set(BEGIN)
        self.places = Places(folder, self.clock)
        self.balancer, self.post = self.places.balancer, self.places.post
        self.people = []
        self.assistants = []
        self.unused = []  # tokens of invitations that have expired
        self.kept = {}  # as of each backup
        self.daily = Watch(self.places, "1d")
        self.most_rows = {}

    @property
    def hosts(self):
        return self.places.hosts

    def person(self, email):
        (found,) = [person for person in self.people if person.email == email]
        return found

    # Time

    def until(self, month, day=1):
        """Live through the days before that morning."""
        while (morning := self.next_morning()) <= datetime(2027, month, day, 12, tzinfo=UTC):
            self.clock.set(morning)
            self.lives_a_day()

    def next_morning(self):
        today = self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return today + timedelta(days=1) + MORNING

    def lives_a_day(self):
        self.places.wait_until_mails_are_tried()
        self.daily.look()
        self.all_come()
        if self.clock.now().weekday() == BACKUP_WEEKDAY:
            self.back_up()
        self.clock.go_on(minutes=5)  # what begins now is over within a day, not at its very end

    def back_up(self):
        """When nothing waits: a notice that does goes out again after a restore."""
        self.places.wait_until_mails_are_tried()
        dump = self.places.back_up()
        self.kept[dump] = copy_of_all(self.people, self.assistants)
        self.note_rows()
        self.places.clean_up()
        return dump

    # People

    def month_begins(self, month):
        """What every month but the first brings on its first day."""
        self.until(month, 1)
        self.newcomers(month)
        self.old_hands(month)

    def newcomers(self, month):
        """A company signs up: its admin lets an assistant in, and invites two, of whom one comes.
        Those of a month before come seldom from now on."""
        for person in self.people[:-2]:
            person.comes_daily = False
        self.clock.go_on(hours=1)  # nothing that lasts 30 days ends in the minute of a check
        admin = signs_up(self, f"ada{month}@example.com", f"Engines {month}")
        self.assistants.append(Assistant.connect(admin))
        invited, absent = f"bob{month}@example.com", f"eve{month}@example.com"
        for email in (invited, absent):
            admin.invites(email)
        self.people += [admin, accepts(self, invited, self.post.token(invited, "Your invitation"))]
        self.unused.append(self.post.token(absent, "Your invitation"))

    def old_hands(self, month):
        """Of the company of the month before one changes the password, the other sets up an app;
        of those before one leaves, and somebody signs out everywhere."""
        self.person(f"ada{month - 1}@example.com").adds_app()
        self.person(f"bob{month - 1}@example.com").changes_password()
        if month > 2:
            leaves = self.person(f"bob{month - 2}@example.com")
            self.person(f"ada{month - 2}@example.com").deactivates(leaves)
            self.person(f"ada{month - 2}@example.com").signs_out_everywhere()

    def all_come(self):
        """Who comes daily comes, and so do their assistants."""
        for visitor in [*self.people, *self.assistants]:
            person = visitor.person if isinstance(visitor, Assistant) else visitor
            if person.comes_daily and person.is_active:
                visitor.comes()

    def all_are_told_to_come_again(self):
        """Without the database nobody is let in, and nobody is signed out."""
        for person in [p for p in self.people if p.comes_daily] * 3:
            assert person.refreshes(person.sessions[-1]).status == 503

    def everybody_is_signed_out(self):
        for person in self.people:
            person.end_sessions()

    # What there is to see

    @contextlib.contextmanager
    def watched(self, *alerts):
        """Half an hour before and after what is done meanwhile, minute by minute: these alerts
        have to fire, and no other."""
        watch = Watch(self.places)
        watch.minutes(15)
        yield watch
        watch.minutes(15)
        assert watch.verdict(self.folder, *alerts) == ""

    def note_rows(self):
        for name, number in tables.rows(self.places.shells.postgres).items():
            self.most_rows[name] = max(number, self.most_rows.get(name, 0))

    def month_ends(self):
        """What must hold, whatever the month brought."""
        self.places.wait_until_well()
        self.clock.go_on(hours=2)
        self.all_come()
        self.clock.go_on(minutes=2)
        self.check_people()
        self.post.wait_for_all()
        self.check_tables()

    def check_people(self):
        """Everybody who should be signed in is, and nobody else."""
        for person in self.people:
            person.check()
            if not person.is_active:
                body = {"email": person.email, "password": person.password}
                assert person.ask("POST", "/auth/login", body).status == 401
        for assistant in self.assistants:
            assistant.check()
        told = {"first_name": "E", "last_name": "V", "password": "nobody's any more"}
        for token in self.unused:
            body = told | {"token": token}
            assert strangers.ask(self, "POST", "/invitations/accept", body) == 400
        self.unused.clear()
        self.clock.go_on(minutes=2)

    def check_tables(self):
        """Nothing is kept for longer, or takes more room, than the guide says; nothing waits."""
        url = self.places.shells.postgres
        self.note_rows()
        self.places.prune()
        query(url, "VACUUM")
        assert tables.too_old(url) == {}
        assert tables.too_large(url, self.most_rows) == {}
        waits = "SELECT kind FROM mail_outgoingmail WHERE state IN ('requested', 'ready')"
        wait_until(lambda: query(url, waits) == [])

    # Keys and releases

    def rotates(self, *words):
        """A new key, which every host has before it signs."""
        self.places.rotate(*words)
        self.places.copy_keys()
        self.clock.go_on(minutes=11)

    def rotates_late(self):
        """One host gets the new key an hour after it has begun to sign elsewhere: there its tokens
        wait, and nobody is signed out."""
        self.places.rotate()
        wait_until(lambda: not host_is_well(self.hosts[1]))
        self.clock.go_on(minutes=70)
        self.balancer.hosts = self.hosts[:1]
        time.sleep(LOOK_SECONDS + 0.5)  # so long a host may not notice its own new file
        self.all_come()
        newest = self.people[-1].sessions[-1].access
        assert sorted(strangers.answers(self.hosts, newest)) == [200, 503]
        self.places.copy_keys()
        self.balancer.hosts = list(self.hosts)
        wait_until(lambda: strangers.answers(self.hosts, newest) == [200, 200], POLITE)

    def leaks(self, person):
        """The file of the key that signs gets into wrong hands: it, and a token made with it."""
        person.comes()
        token = person.sessions[-1].access
        path = max(self.hosts[0].keys.glob("2*.pem"))
        return jwt.get_unverified_header(token)["kid"], strangers.forge(path, token, self)

    def withdraws(self, kid):
        """By the guide's four steps."""
        self.places.rotate("--delay", "0")
        self.places.copy_keys()
        self.hosts[0].manage("rotatekeys", f"--withdraw={kid}")
        self.places.copy_keys()
        assert all("withdrawn" not in host.manage("keys") for host in self.hosts)
        self.hosts[0].manage("signout", "--everybody")
        self.everybody_is_signed_out()

    def upgrades(
        self,
        version,
        change=lambda release: release,
        between=None,
    ):
        """To a new release with a migration, one host after the other."""
        folder = self.folder / "releases" / version
        self.places.migrate_to(change(releases.later(self.places.release, folder, version)))
        self.goes_to(self.places.release, between)

    def goes_to(self, release, between=None):
        """To a release, on or back: people come while one host has it and the other does not."""
        self.places.release = release
        for host in self.hosts:
            self.places.restart(host)
            (between or self.all_come)()
            self.clock.go_on(minutes=2)

    # Disasters

    def restore(self):
        """The newest backup: the state of that day comes back, and nobody is signed in."""
        self.post.wait_for_all()
        dump = max(self.kept, key=lambda path: path.name)
        self.places.restore(dump)
        self.people, self.assistants = self.kept[dump]
        self.kept = {path: kept for path, kept in self.kept.items() if path <= dump}
        self.kept[dump] = copy_of_all(self.people, self.assistants)
        self.everybody_is_signed_out()
        self.clock.go_on(minutes=2)  # codes that apps may have shown by now are used up


def copy_of_all(people, assistants):
    """People as they are now, whose world stays the same one."""
    memo = {id(person.world): person.world for person in people}
    return copy.deepcopy((people, assistants), memo)
