"""``kafka-assignors plan`` on files: the JSON it prints, and tables that its page does not show."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from kafka_assignors.cli.plan import command as cli_plan
from kafka_assignors.cli.tables import MEMBERS, ROWS, short_names
from tests.unit.cli.plan.planning import ACTIVE_AND_PASSIVE, IN_RACKS, call, planned

# --- JSON --------------------------------------------------------------------------------------------------


def test_json_has_every_field_of_version_1() -> None:
    assert planned() == {
        "version": 1,
        "strategy": "cooperative-sticky",
        "assignment": {
            "c1": [["orders", 0], ["orders", 1]],
            "c2": [["orders", 3], ["orders", 4]],
            "c3": [["orders", 2], ["orders", 5]],
        },
        "first_round": {
            "c1": [["orders", 0], ["orders", 1]],
            "c2": [["orders", 3], ["orders", 4]],
            "c3": [],
        },
        "metrics": {
            "balance_score": 0,
            "spread": 0,
            "kept": 4,
            "moved": 2,
            "max_load": 2,
            "load_lower_bound": 2,
            "load_unit": "partitions",
        },
        "why": [
            {"topic": "orders", "partition": p, "member": to, "reason": reason}
            for p, to, reason in (
                (0, "c1", "kept"),
                (1, "c1", "kept"),
                (2, "c3", "moved for balance: c1; waits for revocation by c1"),
                (3, "c2", "kept"),
                (4, "c2", "kept"),
                (5, "c3", "moved for balance: c2; waits for revocation by c2"),
            )
        ],
    }


def test_json_with_racks_has_near_and_reasons() -> None:
    """orders-2 is near to both, and of orders-3 no rack is known: neither moves for a rack."""
    answer = planned("--strategy", "sticky", problem=IN_RACKS)
    assert answer["assignment"] == {
        "c1": [["orders", 1], ["orders", 2]],
        "c2": [["orders", 0], ["orders", 3]],
    }
    assert answer["metrics"]["near"] == 3
    assert [why["reason"] for why in answer["why"]] == [
        *("moved to a rack with a replica: c1", "kept", "kept", "moved for balance: c1"),
    ]


def test_table_with_racks_has_near() -> None:
    shown = call("--strategy", "sticky", problem=IN_RACKS).stdout
    assert "\nnear a replica: 3 of 4\n" in shown
    assert "1 moved to a rack with a replica" in shown
    assert re.search(r"^c1 +2 +2 +0 +2$", shown, re.MULTILINE)
    assert "replica" not in call().stdout
    assert "near" in call("--compare", problem=IN_RACKS).stdout
    compared = call("--compare").stdout
    assert "no plan has a max load of less than 2\n" in compared
    assert "near" not in compared


def test_failover_gives_each_topic_to_the_highest_priority_that_subscribes() -> None:
    answer = planned(problem=ACTIVE_AND_PASSIVE)
    assert answer["assignment"] == {"c1": [["audit", 0]], "c2": [["orders", 0], ["orders", 1]], "c3": []}
    assert "first_round" not in answer
    reasons = [why["reason"] for why in answer["why"]]
    assert reasons == ["no owner before", *["moved to the highest priority: c1"] * 2]
    assert (answer["metrics"]["max_load"], answer["metrics"]["load_lower_bound"]) == (2, 1)
    compared = {entry["strategy"]: entry for entry in planned("--compare", problem=ACTIVE_AND_PASSIVE)}
    assert compared["failover"] == answer


def test_table_of_failover() -> None:
    table = call("--option", "preempt=false", problem=ACTIVE_AND_PASSIVE).stdout
    assert re.search(r"^c1 +3 +2 +1 +0$", table, re.MULTILINE)
    assert "2 stays with the active member, 1 no owner before" in table
    assert not re.search(r"^orders-0 ", table, re.MULTILINE)
    table = call(problem=ACTIVE_AND_PASSIVE).stdout
    assert re.search(r"^c1 +1 +0 +1 +2$", table, re.MULTILINE)
    assert re.search(r"^orders-0 +c1 +c2 +moved to the highest priority$", table, re.MULTILINE)


def test_strategy_without_history_assigns_in_order() -> None:
    c1, c2 = (f"dealt in order: {owner}" for owner in ("c1", "c2"))
    reasons = [why["reason"] for why in planned("--strategy", "range")["why"]]
    assert reasons == ["kept", "kept", c1, "kept", c2, c2]


def test_command_line_overrides_file_and_default() -> None:
    anybody = {"members": [{"id": "c1"}]}
    assert planned("--strategy", "fair", problem=anybody | {"strategy": "range"})["strategy"] == "fair"
    assert planned(problem=anybody | {"strategy": "range"})["strategy"] == "range"
    assert planned(problem=anybody)["strategy"] == "cooperative-sticky"


def test_empty_group_has_a_plan() -> None:
    answer = planned(problem={"topics": {"t": 1}})
    assert answer["assignment"] == {}
    assert answer["why"] == [{"topic": "t", "partition": 0, "member": None, "reason": "nobody subscribes"}]
    assert call(problem={}).exit_code == 0


def test_without_removes_and_join_adds_members() -> None:
    answer = planned("--without", "c2", "--strategy", "sticky")
    assert set(answer["assignment"]) == {"c1", "c3"}
    assert [why["reason"] for why in answer["why"]] == ["kept"] * 3 + ["owner gone: c2"] * 3
    assert set(planned("--join", "2")["assignment"]) == {"c1", "c2", "c3", "new-1", "new-2"}


# --- tables ------------------------------------------------------------------------------------------------


def test_unchanged_plan_has_no_list_of_changes() -> None:
    table = call("--without", "c3").stdout
    assert "6 kept" in table
    assert "partition " not in table


def large(members: int, partitions: int) -> dict[str, Any]:
    """Members with names of a broker, without owned partitions."""
    ids = [f"worker-{i}-{i:08x}-f281-49d9-bf0e-d5d2e7b04c43" for i in range(members)]
    return {"topics": {"flights-by-destination": partitions}, "members": [{"id": m} for m in ids]}


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("arguments", [(), ("--compare",)])
def test_no_line_is_wider_than_the_terminal(arguments: tuple[str, ...], width: int) -> None:
    lines = call(*arguments, problem=large(3, 40), width=width).stdout.splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert any("worker-2-00000002" in line for line in lines) or arguments


def test_large_plan_is_cut_with_a_note() -> None:
    problem = large(MEMBERS + 2, ROWS + 5)
    cut, whole = call(problem=problem).stdout, call("--all", problem=problem).stdout
    assert cut.count("… and ") == 2
    assert "… and 2 more; --all shows them" in cut
    assert "… and 5 more; --all shows them" in cut
    assert cut.count("no owner before") == ROWS + 1  # and the line that counts them
    assert sum(line.startswith("worker-") for line in cut.splitlines()) == MEMBERS
    assert whole.count("no owner before") == ROWS + 5 + 1
    assert "…" not in whole
    assert "…" not in call(problem=large(MEMBERS, ROWS)).stdout


def test_long_names_are_folded_completely() -> None:
    name = "n" * 150
    folded = call(problem={"topics": {name: 1}, "members": [{"id": name.upper()}]}).stdout
    assert (folded.count("n") - call(problem={}).stdout.count("n")) >= 150
    assert folded.count("N") == 300


def test_uuid_is_shortened_only_if_names_stay_unique() -> None:
    tail = "-f281-49d9-bf0e-d5d2e7b04c43"
    assert short_names([f"a-00000001{tail}", "b"]) == {f"a-00000001{tail}": "a-00000001", "b": "b"}
    alike = [f"a-00000001{tail}", "a-00000001"]
    assert short_names(alike) == {name: name for name in alike}


def test_control_characters_in_names_are_escaped() -> None:
    members = [{"id": "\x1b[31mred[bold]"}, {"id": "b"}]
    result = call(problem={"topics": {"t\x07": 2}, "members": members})
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    assert "[31mred[bold]" in result.stdout


def test_members_with_the_same_claim_are_both_named() -> None:
    """And who no longer subscribes has lost what it owned."""
    members = [{"id": m, "owned": [["t", 0]], "generation": 2} for m in "ab"]
    left = {"id": "c", "owned": [["t", 1]], "generation": 2, "topics": []}
    table = call(problem={"topics": {"t": 2}, "members": [*members, left, {"id": "d"}]}).stdout
    rows = [line.split() for line in table.splitlines()]
    assert ["t-0", "a,", "b", "a", "claim", "contested"] in rows
    assert ["t-1", "c", "b", "owner", "no", "longer", "subscribes,", "waits"] in rows
    assert ["c", "0", "0", "0", "1", "0"] in rows


def test_partition_without_a_subscriber_counts_as_lost() -> None:
    owners = {"a": 0, "b": 1, "c": 1}
    members = [{"id": m, "owned": [["t", p]], "generation": 1, "topics": []} for m, p in owners.items()]
    problem = {"topics": {"t": 2}, "members": members}
    rows = [line.split() for line in call(problem=problem).stdout.splitlines()]
    assert [row[4] for row in rows if row and row[0] in set("abc")] == ["1", "0", "0"]
    assert ["t-0", "a", "-", "nobody", "subscribes"] in rows
    reasons = [why["reason"] for why in planned(problem=problem)["why"]]
    assert reasons == ["nobody subscribes: a", "nobody subscribes: b, c"]


def test_pipe_output_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name = "n" * 150
    text = json.dumps({"topics": {name: 1}, "members": [{"id": "m"}]})
    lines = CliRunner().invoke(cli_plan.command, ["--file", "-"], input=text).stdout.splitlines()
    assert any(line.startswith(f"{name}-0") for line in lines)
    assert [line.rstrip() for line in lines] == lines
