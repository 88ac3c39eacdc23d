"""Nonces of values that work once: used by one of many, and kept while a value may be valid."""

import pytest
from django.utils import timezone

from base.nonces import NONCE_SECONDS, UsedNonce
from signin.factors.passkeys import CHALLENGE_SECONDS
from signin.reauthentication import REAUTHENTICATION_SEAL
from sso.flow import SealedValue
from tests.races import race


@pytest.mark.django_db(transaction=True)
def test_nonce_is_used_by_one_of_many():
    answers = race(*[lambda: UsedNonce.objects.use("a nonce")] * 8)

    assert sorted(answers) == [False] * 7 + [True]


@pytest.mark.django_db
def test_nonce_is_kept_while_a_value_may_be_valid_at_a_host_ten_minutes_behind(time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    UsedNonce.objects.use("a nonce")

    time_machine.shift(NONCE_SECONDS + 599)
    assert UsedNonce.objects.prune_expired() == 0
    time_machine.shift(1)
    assert UsedNonce.objects.prune_expired() == 1


def test_no_value_with_a_nonce_is_valid_for_longer():
    seconds = [kind.seconds for kind in [SealedValue, *SealedValue.__subclasses__()]]
    seconds.append(REAUTHENTICATION_SEAL.seconds)
    seconds.append(2 * CHALLENGE_SECONDS)  # a challenge may be dated in the future

    assert max(seconds) <= NONCE_SECONDS
