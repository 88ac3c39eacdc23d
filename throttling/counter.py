"""How many requests a caller has made: counted in Redis or in process, and the rule that chooses.

A window is fixed and begins with its first request. Nothing that happens to the store reaches the
caller: a limiter must not be what fails a request.
"""

import functools
import math
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Literal

from django.conf import settings

from metrics import series
from throttling.breaker import Breaker
from throttling.store import Store, key_of
from throttling.topology import PROBE


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one count: `reset` is in whole seconds, rounded up, from 1 to the window."""

    allowed: bool
    limit: int
    remaining: int
    reset: int

    @classmethod
    def of(cls, used: int, limit: int, seconds_left: float, window: int) -> "Decision":
        """Decide on the `used`-th request (1 is the first) of a window."""
        reset = min(window, max(1, math.ceil(seconds_left)))
        return cls(used <= limit, limit, max(0, limit - used), reset)

    def headers(self) -> dict[str, str]:
        """The three headers that every allowed answer carries."""
        return {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-reset": str(self.reset),
        }


@dataclass(slots=True)
class Window:
    """What this process knows of a caller's window."""

    end: float  # on the monotonic clock
    used: int = 0
    unheard: int = 0  # let through since the store last answered
    asked: bool = False  # the store has been asked in this window
    share_only: bool = False  # ... and was not there at some moment of it


class ProcessCounter:
    """Counts in this process's memory, for its threads.

    What has ended is dropped from the dictionary's front, where the oldest is, and so is the
    oldest window when there are too many.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        self.capacity = capacity  # about 250 bytes each
        self.lock = threading.Lock()
        self.counts: OrderedDict[str, Window] = OrderedDict()

    def count(self, key: str, limit: int, seconds: int) -> Decision:
        """Count a request in a window of so many seconds."""
        with self.lock:
            return self.add(self.window(key, seconds), limit, seconds)

    def count_without_store(
        self, key: str, share: int, seconds: int, *, silent: bool, hiccup: bool
    ) -> Decision:
        """Count a request that the store has given no answer for, in this process's share.

        A store that is `silent` may still have its counts when it is back: `count_after_store`
        holds the caller. One that hung up or refused begins anew, and everybody with it. While it
        may be but a `hiccup`, which other processes need not meet, one request of a caller passes.
        """
        with self.lock:
            window = self.window(key, seconds)
            # Where the store was asked, it has had a part of what is counted here.
            window.share_only = silent or window.asked
            if hiccup and window.unheard:
                return Decision.of(share + 1, share, window.end - time.monotonic(), seconds)
            window.unheard += 1
            return self.add(window, share, seconds)

    def add(self, window: Window, limit: int, seconds: int) -> Decision:
        window.used += 1
        return Decision.of(window.used, limit, window.end - time.monotonic(), seconds)

    def count_after_store(self, key: str, share: int, part: int, seconds_left: float) -> bool:
        """Count a request that the store has counted too, and allow or refuse it.

        `share` is this process's of the limit, `part` of what the store has counted: it is used up
        even if other processes let it through. A process that has counted without a store that
        was only silent keeps to its share until the window ends.
        """
        with self.lock:
            window = self.window(key, seconds_left)
            window.used = max(window.used + 1, part)
            window.asked, window.unheard = True, 0
            return window.used <= share or not window.share_only

    def note_silence(self, key: str, seconds: int) -> None:
        """The store was asked, and has perhaps counted what it gave no answer to."""
        with self.lock:
            self.window(key, seconds).asked = True

    def window(self, key: str, seconds: float) -> Window:
        """The caller's window, or a new one that ends in so many seconds."""
        now = time.monotonic()
        while self.counts and next(iter(self.counts.values())).end <= now:
            self.counts.popitem(last=False)
        found = self.counts.get(key)
        if found and found.end > now:
            return found
        self.counts.pop(key, None)
        self.counts[key] = Window(now + seconds)
        if len(self.counts) > self.capacity:
            self.counts.popitem(last=False)
        return self.counts[key]


class Refusals:
    """Whom the store has just refused: they are refused from memory for up to a second.

    That is exact, since an exhausted window stays so until it ends. The second is how soon an
    operator's `limits --clear` is felt.
    """

    SECONDS = 1.0

    def __init__(self, capacity: int = 10_000) -> None:
        self.capacity = capacity
        self.lock = threading.Lock()
        # By key: when to ask again, the window's end, the requests in it.
        self.known: OrderedDict[str, tuple[float, float, int]] = OrderedDict()

    def remember(self, key: str, used: int, seconds_left: float) -> None:
        now = time.monotonic()
        end = now + seconds_left
        with self.lock:
            while self.known and next(iter(self.known.values()))[0] <= now:
                self.known.popitem(last=False)
            self.known.pop(key, None)
            self.known[key] = min(now + self.SECONDS, end), end, used
            if len(self.known) > self.capacity:
                self.known.popitem(last=False)

    def decision(self, key: str, limit: int, window: int) -> Decision | None:
        """The refusal of a caller whom memory can tell to be over the limit, or None."""
        ask_again, end, used = self.known.get(key, (0.0, 0.0, 0))
        if used <= limit:
            return None
        now = time.monotonic()
        return Decision.of(used, limit, end - now, window) if now < ask_again else None


def processes() -> int:
    """How many count together, on all hosts."""
    return int(settings.LIMITER_PROCESSES or settings.WEB_CONCURRENCY)


def share(limit: int) -> int:
    """What each process may let through by itself, so that together they keep to the limit."""
    return max(1, limit // processes())


def local_part(used: int) -> int:
    """What a process counts as its part of the requests that the store has counted, while each of
    the others may have had one more by now."""
    others = processes() - 1
    return math.ceil((used + others) / processes())


class Limiter:
    """The rule that chooses where to count. One for each process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all counts in process, the store's connections and how the store fared."""
        self.breaker = Breaker()
        self.process = ProcessCounter()
        self.refusals = Refusals()
        self.is_watched = False
        self.__dict__.pop("store", None)

    @functools.cached_property
    def store(self) -> Store:
        """Made at the first count, since gunicorn loads the application before it forks."""
        return Store()

    def count(self, tier: str, caller: str, limit: int, *, strict: bool) -> Decision:
        """Count a request of the caller in the tier; `limit` is in requests a window.

        Without the store, a strict tier is counted in process, each process with its share of the
        limit, so that an outage does not multiply it; any other is let through.
        """
        key = key_of(tier, caller)
        window: int = settings.RATE_LIMIT_WINDOW_SECONDS
        decision = None
        if settings.REDIS_URL:
            refused = self.refusals.decision(key, limit, window)
            decision = refused or self.ask_store(key, limit, window, strict=strict)
        if decision:
            outcome = "allowed" if decision.allowed else "refused"
        elif settings.REDIS_URL and not strict:
            decision = Decision(allowed=True, limit=limit, remaining=limit, reset=window)
            outcome = "uncounted"
        else:
            decision = self.count_in_process(key, limit, window, strict=strict)
            outcome = "in_process" if decision.allowed else "refused"
        series.decision(tier, outcome).inc()
        return decision

    def count_in_process(self, key: str, limit: int, window: int, *, strict: bool) -> Decision:
        if not settings.REDIS_URL:
            return self.process.count(key, share(limit) if strict else limit, window)
        silent, hiccup = self.breaker.is_silent, self.breaker.is_hiccup()
        return self.process.count_without_store(
            key, share(limit), window, silent=silent, hiccup=hiccup
        )

    def ask_store(self, key: str, limit: int, window: int, *, strict: bool) -> Decision | None:
        """The store's decision, or None where the store has none to give. While it is lost a
        request probes now and then, but where somebody keeps watch."""
        if self.breaker.is_open and (self.is_watched or not self.breaker.admits()):
            return None
        try:
            used, milliseconds = self.store.count(key, window * 1000)
            decision = Decision.of(used, limit, milliseconds / 1000, window)
        except Exception as error:  # whatever it is, a limiter must not be what fails a request
            self.lost(error)
            if strict:
                self.process.note_silence(key, window)
            return None
        # Where somebody keeps watch and it is open all the same, one server of several is lost.
        if self.breaker.failures and not (self.is_watched and self.breaker.is_open):
            self.breaker.succeeded()
        if not decision.allowed:
            self.refusals.remember(key, used, milliseconds / 1000)
        if strict and not self.process.count_after_store(
            key, share(limit), local_part(used), milliseconds / 1000
        ):
            return replace(decision, allowed=False, remaining=0)
        return decision

    def lost(self, error: Exception, *, surely: bool = False) -> None:
        """Tell the breaker, and begin on new connections where it opens."""
        series.store_failures.labels(type(error).__name__).inc()
        self.breaker.failed(error, surely=surely)
        if self.breaker.is_open and "store" in vars(self):
            self.store.lost()

    def keep_watch(self) -> None:
        """For a server's process: look at the store at once, and then by a thread of its own: twice
        a second, and five times while it is lost. So connections stand before they are needed,
        `state` is true without a request, and a store that is lost or moves is found again without
        one: no request probes."""
        if settings.REDIS_URL:
            self.is_watched = True
            self.refresh_or_lose()
            threading.Thread(target=self.watch, name="store", daemon=True).start()

    def watch(self) -> None:
        try:
            while True:
                time.sleep(0.2 if self.breaker.is_open else 0.5)
                self.refresh_or_lose()
        finally:
            self.is_watched = False  # so that requests probe

    def refresh_or_lose(self) -> None:
        """Refresh, and lose the store where even that fails: the watch must not end of it."""
        try:
            self.refresh()
        except Exception as error:
            self.breaker.failed(error, surely=True)

    def refresh(self) -> None:
        """See whether the store counts. It has half a second to say so: a shorter silence may be
        this machine's, and a process that alone takes the store for lost adds to the limit."""
        try:
            self.store.refresh()
        except Exception as error:
            self.lost(error, surely=True)
        else:
            self.breaker.succeeded()

    def state(self) -> Literal["ok", "fallback"]:
        """Whether counting works as configured: `fallback` while the store is lost."""
        return "fallback" if settings.REDIS_URL and self.breaker.is_open else "ok"

    def probe(self) -> None:
        """Try a lost store where a try is due and nobody keeps watch."""
        if self.state() == "fallback" and not self.is_watched:
            self.ask_store(PROBE, 1, 1, strict=False)


limiter = Limiter()

# A child process must not share its parent's counts, nor a lock that a thread held at the fork.
os.register_at_fork(after_in_child=limiter.reset)
