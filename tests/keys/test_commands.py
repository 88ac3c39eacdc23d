"""`rotatekey`, `withdrawkey` and `listkeys`."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from keys.models import SigningKey
from tests.keys.conftest import look, published

pytestmark = pytest.mark.django_db


def listed(capsys):
    capsys.readouterr()
    call_command("listkeys")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    return {kid: state for kid, state, _ in lines}


@pytest.mark.parametrize(
    ("options", "seconds"),
    [([], 600), (["--now"], 5), (["--delay", "60"], 60), (["--delay", "2592000"], 2592000)],
)
def test_rotated_key_signs_after_the_delay(first, capsys, options, seconds):
    call_command("rotatekey", *options)

    new = SigningKey.objects.exclude(pk=first.pk).get()
    assert abs(new.signs_from - timezone.now() - timedelta(seconds=seconds)) < timedelta(minutes=1)
    assert f"{new.kid} signs from {new.signs_from:%Y-%m-%dT%H:%M:%SZ}." in capsys.readouterr().out


@pytest.mark.parametrize("delay", ["-1", "4", "2592001"])
def test_delay_is_at_most_thirty_days(first, delay):
    with pytest.raises(CommandError, match=r"5 to 2592000 seconds \(30 days\)"):
        call_command("rotatekey", "--delay", delay)
    assert SigningKey.objects.count() == 1


def test_list_tells_what_each_key_does(first, capsys):
    waiting, withdrawn = SigningKey.objects.publish(600), SigningKey.objects.publish(900)
    call_command("withdrawkey", "--", withdrawn.kid)

    assert listed(capsys) == {first.kid: "signing", waiting.kid: "waiting"}


def test_last_key_that_is_withdrawn_has_a_successor(first, capsys):
    call_command("withdrawkey", "--", first.kid)
    look()

    assert len(published()) == 1
    with pytest.raises(CommandError, match="is unknown, or was already withdrawn"):
        call_command("withdrawkey", "--", first.kid)
