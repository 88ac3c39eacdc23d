"""Where the store is: one server, the master that Sentinels name, or the nodes of a Cluster.

Only `find` asks anybody, and takes its time: `Limiter.watch` calls it, never a request.
"""

from typing import Any, Protocol

from django.conf import settings
from django_redis import get_redis_connection
from redis import Redis, SSLConnection
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import ConnectionError as StoreError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

Endpoint = tuple[str, int]  # host, port
Options = dict[str, Any]  # of a connection, as redis-py names them
Client = Redis | RedisCluster
PROBE = "throttle:probe"
PATIENCE: Options = {  # of who looks for the servers, on whom no request waits
    "socket_connect_timeout": 0.5,  # seconds
    "socket_timeout": 0.5,
    "retry": Retry(NoBackoff(), 0),
}


class Topology(Protocol):
    def find(self, failed: Endpoint | None) -> None:
        """Find out where the servers are now, and ask the one that has failed last. Raises
        redis-py's errors."""

    def server_for(self, key: str) -> Endpoint:
        """The server that counts under the key. Raises StoreError while none is known."""

    def probes(self) -> list[str]:
        """Keys of which every server that counts holds one."""

    def client(self) -> Client:
        """A client of redis-py's for the whole of it."""


class OneServer:
    """The server of a redis:// or rediss:// URL, through django-redis."""

    def __init__(self, client: Client, endpoint: Endpoint) -> None:
        self.redis, self.endpoint = client, endpoint

    def find(self, failed: Endpoint | None) -> None:
        pass

    def server_for(self, key: str) -> Endpoint:
        return self.endpoint

    def probes(self) -> list[str]:
        return [PROBE]

    def client(self) -> Client:
        return self.redis


class SentinelMaster:
    """The one master; its Sentinels name another when it is lost."""

    def __init__(
        self, endpoints: list[Endpoint], service: str, sentinel_options: Options, options: Options
    ) -> None:
        self.sentinel = Sentinel(
            endpoints, sentinel_kwargs=sentinel_options | PATIENCE, **(options | PATIENCE)
        )
        self.service = service
        self.master: Endpoint | None = None

    def find(self, failed: Endpoint | None) -> None:
        try:
            self.master = self.sentinel.discover_master(self.service)
        except MasterNotFoundError:  # which prints all Sentinels with all their options
            if self.master is None:
                self.sentinel.sentinels[0].ping()  # is it an unknown CA, or a wrong password?
            raise StoreError(f"no Sentinel names a master of {self.service}") from None

    def server_for(self, key: str) -> Endpoint:
        if self.master is None:
            raise StoreError(f"no Sentinel has named the master of {self.service} yet")
        return self.master

    def probes(self) -> list[str]:
        return [PROBE]

    def client(self) -> Client:
        client: Redis = self.sentinel.master_for(self.service)
        return client


class ClusterNodes:
    """The masters of a Cluster, each with its part of the keys."""

    def __init__(self, endpoints: list[Endpoint], options: Options) -> None:
        self.endpoints, self.options = endpoints, options
        self.cluster: RedisCluster | None = None

    def client(self) -> RedisCluster:
        nodes = [ClusterNode(*endpoint) for endpoint in self.endpoints]
        options = self.options | PATIENCE
        return RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options)

    def find(self, failed: Endpoint | None) -> None:
        if self.cluster is None:
            self.cluster = self.client()
        else:
            name = "{}:{}".format(*failed) if failed else None
            self.cluster.nodes_manager.initialize(last_failed_node_name=name)

    def server_for(self, key: str) -> Endpoint:
        if self.cluster is None:
            raise StoreError("no node of the cluster has answered yet")
        node = self.cluster.get_node_from_key(key)
        return node.host, node.port

    def probes(self) -> list[str]:
        found: dict[Endpoint, str] = {}
        for number in range(200):  # more than enough to meet each of a dozen masters
            key = f"{PROBE}:{number}"
            found.setdefault(self.server_for(key), key)
        return list(found.values())


def topology() -> tuple[Topology, Options]:
    """That of the settings, and the options of a connection to one of its servers; asks nobody."""
    servers = settings.REDIS_SERVERS
    if servers is None:
        # django-redis reads the URL and its options, and is the home of the one client. Counts
        # take connections of a list of their own (throttling.store): each has its part of 100 ms.
        client = get_redis_connection("default")
        pool = client.connection_pool
        options = dict(pool.connection_kwargs)
        options["ssl"] = issubclass(pool.connection_class, SSLConnection)
        endpoint = options.pop("host", "localhost"), options.pop("port", 6379)
        return OneServer(client, endpoint), options
    endpoints, options = servers["endpoints"], servers["options"]
    found: Topology = ClusterNodes(endpoints, options)
    if servers["service"] is not None:
        sentinel_options = servers["sentinel_options"]
        found = SentinelMaster(endpoints, servers["service"], sentinel_options, options)
    return found, options | settings.REDIS_CONNECTION
