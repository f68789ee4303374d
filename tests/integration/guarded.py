"""A broker with three listeners: without authentication, behind a proxy, and with a password."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from kafka_assignors.broker.ports import HOST
from kafka_assignors.plan import TopicPartition
from tests.integration.lagging import commit
from tests.integration.own_broker import START_S, Ports, listener_settings, own_broker
from tests.integration.proxy import Proxy
from tests.support.waiting import until

USER, PASSWORD = "reader", "pa55word-of-the-reader"
_FIRST = "first"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class Right(NamedTuple):
    """A right of the user: an operation on a topic or group, or on all with a prefix."""

    kind: ResourceType
    name: str
    operation: ACLOperation
    prefixed: bool = False

    def acl(self) -> ACL:
        """Return the right as Kafka's ACL."""
        pattern = ACLResourcePatternType.PREFIXED if self.prefixed else ACLResourcePatternType.LITERAL
        return ACL(
            principal=f"User:{USER}",
            host="*",
            operation=self.operation,
            permission_type=ACLPermissionType.ALLOW,
            resource_pattern=ResourcePattern(self.kind, self.name, pattern),
        )


_ALL = ACLFilter(
    principal=f"User:{USER}",
    host=None,
    operation=ACLOperation.ANY,
    permission_type=ACLPermissionType.ANY,
    resource_pattern=ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


@dataclass(frozen=True)
class Guarded:
    """A running broker.

    Attributes:
        bootstrap: the listener without authentication; its clients have all rights.
        proxied: ``host:port`` of a proxy, which the broker advertises to its clients.
        proxy: that proxy.
        sasl: ``host:port`` of the listener with name and password.
    """

    bootstrap: str
    proxied: str
    proxy: Proxy
    sasl: str

    def config(self, password: str = PASSWORD) -> dict[str, Any]:
        """Return a consumer's configuration for the listener with a password."""
        return {
            "bootstrap_servers": self.sasl,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": USER,
            "sasl_plain_password": password,
        }

    def allow(self, kind: ResourceType, name: str, operation: ACLOperation = ACLOperation.DESCRIBE) -> None:
        """Let the user describe a topic or a group, or give it another right."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.create_acls([Right(kind, name, operation).acl()])

    def allow_only(self, rights: Collection[Right]) -> None:
        """Replace the user's rights; returns when they are in force."""
        wanted = {right.acl() for right in rights}
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.delete_acls([_ALL])
            admin.create_acls(list(wanted))
            # The broker applies ACLs after the controller.
            until(lambda: set(admin.describe_acls(_ALL)[0]) == wanted, "rights", patience_s=START_S)


def make_coordinators(bootstrap: str) -> None:
    """Commit once, because creating __consumer_offsets takes longer than the tests' deadlines."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(_FIRST, num_partitions=1, replication_factor=1)])
        commit(bootstrap, _FIRST, {TopicPartition(_FIRST, 0): 0})
        admin.delete_groups([_FIRST])
        admin.delete_topics([_FIRST])


def _properties(ports: Ports) -> dict[str, str]:
    listeners = {name: port for name, port in ports.items() if name != "proxied"}
    advertised = {"PLAINTEXT": ports["PLAINTEXT"], "SASL": ports["SASL"], "BEHIND": ports["proxied"]}
    return {
        **listener_settings(listeners, advertised, SASL="SASL_PLAINTEXT"),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{_LOGIN} required user_{USER}="{PASSWORD}";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


@contextmanager
def guarded_broker() -> Iterator[Guarded]:
    """Run the broker for the length of a ``with`` block."""
    with own_broker(("PLAINTEXT", "CONTROLLER", "BEHIND", "SASL", "proxied"), _properties) as ports:
        plain, behind, proxied = ports["PLAINTEXT"], ports["BEHIND"], ports["proxied"]
        make_coordinators(f"{HOST}:{plain}")
        with Proxy(proxied, behind) as proxy:
            yield Guarded(f"{HOST}:{plain}", f"{HOST}:{proxied}", proxy, f"{HOST}:{ports['SASL']}")


def login(guarded: Guarded, path: Path) -> list[str]:
    """Options for the listener with a password, which is in the environment."""
    path.write_text(
        f"bootstrap.servers={guarded.sasl}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.plain.username={USER}\n",
        encoding="utf-8",
    )
    return ["--config", str(path)]
