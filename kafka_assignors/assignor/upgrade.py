"""The list of strategies for the first bounce of an upgrade from eager to cooperative (KIP-726)."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

from kafka_assignors.assignor.options import ConfigurationError


def first_bounce(
    to: type[AbstractPartitionAssignor], eager: Sequence[type[AbstractPartitionAssignor]]
) -> list[type[AbstractPartitionAssignor]]:
    """List the new strategy first, then the group's current ones.  The second bounce lists the new one alone.

    Raises:
        ConfigurationError: no current strategy is given, one of them cannot run eager, or the new one is not
            cooperative and needs no second bounce.
    """
    if RebalanceProtocol.COOPERATIVE not in to().supported_protocols():
        raise ConfigurationError("upgrading_from", f"{to.__name__} is eager: list both, in any order")
    if not eager:
        raise ConfigurationError("upgrading_from", "name the strategy the group runs now")
    for strategy in eager:
        if RebalanceProtocol.EAGER not in strategy().supported_protocols():
            raise ConfigurationError("upgrading_from", f"{strategy.__name__} cannot run eager")
    return [to, *eager]
