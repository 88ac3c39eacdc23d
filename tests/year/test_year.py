"""A year of two hosts, month by month: what it brings, and that everything holds at its end."""

import pytest

from tests.year import strangers
from tests.year.people import Person, accepts
from tests.year.places import POLITE
from tests.year.post import wait_until
from tests.year.releases import MAIL_OF_TOMORROW, with_new_mail

pytestmark = pytest.mark.year


def test_january_begins_with_what_the_first_release_left(year):
    year.people += [Person(year, "ada@example.com"), Person(year, "bob@example.com")]
    year.post.expect("grace@example.com", "Your invitation")
    year.post.expect("new@example.com", "Registrierung abschließen")
    year.newcomers(1)
    year.until(1, 10)
    year.rotates()
    year.until(1, 31)
    with year.watched() as hour:
        hour.minutes(60, year.person("bob1@example.com").comes)
    year.month_ends()


def test_february_has_a_mail_server_that_is_away(year):
    year.month_begins(2)
    year.until(2, 10)
    year.rotates()
    bob = year.person("bob1@example.com")
    with year.watched("MailsWait") as hour:
        year.post.stop()
        bob.asks_for_a_new_password()
        hour.minutes(20, settled=False)
        year.post.start()
        bob.changes_it()
    year.until(2, 28)
    year.month_ends()


def test_march_brings_a_release_and_a_key_that_is_late_at_one_host(year):
    year.month_begins(3)
    with year.watched() as hour:
        year.upgrades("1.2.0", between=lambda: hour.minutes(10, year.all_come))
    year.until(3, 10)
    year.rotates_late()
    year.until(3, 31)
    year.month_ends()


def test_april_loses_the_database_for_a_while(year):
    year.month_begins(4)
    year.until(4, 10)
    year.rotates("--delay", str(3 * 86400))
    year.until(4, 20)
    with year.watched("DatabaseLost", "ServiceErrors") as hour:
        year.places.database.stop()
        hour.minutes(15, year.all_are_told_to_come_again, settled=False)
        year.places.database.start()
        year.places.wait_until_well()
    year.until(4, 30)
    year.month_ends()


def test_may_has_the_backup_of_a_sunday_restored_and_a_store_that_is_away(year):
    year.month_begins(5)
    year.until(5, 12)
    ada = year.person("ada5@example.com")
    ada.invites("late@example.com")
    token = year.post.token("late@example.com", "Your invitation")
    late = accepts(year, "late@example.com", token)
    year.until(5, 13)
    year.restore()
    assert late.ask("POST", "/auth/login", late.body()).status == 401
    assert late.refreshes(late.sessions[-1]).status == 401
    year.unused.append(token)
    ada = year.person("ada5@example.com")
    with year.watched("LimiterStoreLost") as hour:
        ada.comes()
        year.places.store.stop()
        hour.minutes(10, lambda: ada.must("GET", "/users"), settled=False)
        year.places.store.start()
    year.until(5, 31)
    year.month_ends()


def test_june_is_a_month_of_guesses(year):
    year.month_begins(6)
    for day in range(2, 25):
        year.until(6, day)
        strangers.lock(year, year.person("bob5@example.com"))
        year.clock.go_on(minutes=16)
        year.person("bob5@example.com").log_in()
    with year.watched("PasswordSpraying") as hour:
        hour.minutes(7, lambda: strangers.spray(year, 40))
        hour.minutes(10)
    year.until(6, 30)
    year.month_ends()


def test_july_brings_a_release_and_a_clock_that_is_wrong(year):
    year.month_begins(7)
    year.upgrades("1.3.0")
    year.until(7, 20)
    with year.watched("ClockOff") as hour:
        year.clock.misset("b", 40)
        hour.minutes(15, year.all_come)
        year.clock.misset("b", 0)
        hour.minutes(5, year.all_come)
    year.until(7, 31)
    year.month_ends()


def test_august_meets_somebody_with_a_list_of_passwords(year):
    year.month_begins(8)
    year.until(8, 20)
    known = [person for person in year.people if person.secret]
    with year.watched("PasswordsKnown", "SigningKeyOld") as hour:
        for _ in range(4):
            for person in known:
                strangers.try_known_password(year, person)
            hour.minutes(2)
        hour.minutes(30)
    for person in known:
        year.post.expect(person.email, "Somebody knows your password")
        person.log_in()
    year.until(8, 31)
    year.month_ends()


def test_september_has_a_key_leak(year):
    year.month_begins(9)
    ada = year.person("ada9@example.com")
    leaked, forged = year.leaks(ada)
    assert strangers.answers(year.hosts, forged) == [200, 200]
    year.withdraws(leaked)
    wait_until(lambda: strangers.answers(year.hosts, forged) == [401, 401], POLITE)
    year.until(9, 20)
    year.rotates()
    year.until(9, 30)
    with year.watched() as hour:
        hour.minutes(60, year.all_come)
    year.month_ends()


def test_october_brings_a_release_that_is_taken_back_and_made_again(year):
    year.month_begins(10)
    year.rotates()
    before = year.places.release
    year.upgrades("1.4.0", with_new_mail)
    year.until(10, 15)
    year.rotates()
    newest = year.places.release
    with year.watched("MailsUnknown") as hour:
        year.goes_to(before)
        year.places.write_mail(MAIL_OF_TOMORROW, "ada10@example.com")
        hour.minutes(65)
        year.goes_to(newest)
        year.post.expect("ada10@example.com", "Of tomorrow")
    year.until(10, 31)
    year.month_ends()


def test_november_has_a_host_that_is_down_and_a_restore(year):
    year.month_begins(11)
    year.rotates()
    with year.watched("ServiceDown") as hour:
        with year.places.without(year.hosts[1]):
            hour.minutes(10, year.all_come)
        hour.minutes(5, year.all_come)
    year.until(11, 17)
    year.person("bob11@example.com").changes_password()
    year.restore()
    year.until(11, 20)
    year.rotates()
    year.until(11, 30)
    year.month_ends()


def test_december_has_mails_that_nobody_takes(year):
    year.month_begins(12)
    year.rotates()
    people = [year.person(f"{who}@example.com") for who in ("bob11", "ada12", "bob12")]
    year.post.unwanted = {person.email: "451 4.7.1 later" for person in people}
    with year.watched("MailsRefused") as hour:
        for person in people:
            person.asks_for_a_new_password()
        hour.minutes(20)
        year.post.unwanted.popitem()
        year.post.unwanted.popitem()
        hour.minutes(20)
    for person in people[1:]:
        person.changes_it()
    year.until(12, 4)
    with year.watched("MailsGivenUp") as hour:
        year.clock.go_on(hours=13)
        hour.minutes(5)
    year.until(12, 20)
    year.rotates()
    year.until(12, 31)
    year.month_ends()


def test_year_has_had_one_alert_by_the_day(year):
    """Nobody rotated keys from April to September."""
    assert year.daily.verdict(year.folder, "SigningKeyOld") == ""
    assert len(year.daily.samples) >= 360
    for host in year.hosts:
        assert len(list(host.keys.iterdir())) == 2
    wait_until(lambda: year.post.arrived() == year.post.expected)
