"""Findings on what the kubelet promised: the ways in which a grant breaks, and who is not to be blamed for it."""

from dataclasses import replace

import pytest

from numa_exporter.formats.kubelet_state import CpuManagerState
from numa_exporter.model.names import Names
from numa_exporter.model.report import Finding
from numa_exporter.model.thresholds import Settings
from tests.builders import cpus, single_node, two_socket
from tests.findings.machines import GRANTED, SHARING, in_pod
from tests.findings.watch import Script, last, of, watch
from tests.kubernetes.machines import Node, answer, config, names_of, pod_cgroup, pod_task


def only(script: Script, code: str) -> Finding:
    (found,) = of(last(script, 60.0), code)
    return found


def silent(script: Script, code: str) -> bool:
    return not any(of(one, code) for one in watch(script, 60.0))


def test_a_cpuset_that_differs_from_the_grant() -> None:
    found = only(in_pod(GRANTED, "0-5"), "grant_broken")
    assert "was granted CPUs 0-7 for itself, and its cpuset has 0-5" in found.sentence
    assert "shared pool" not in found.sentence
    assert [line.line for line in found.evidence][-1] == "0-5"
    assert found.remedy == "kubectl delete pod -n prod llm-0"


def test_it_must_last_for_three_reconcile_periods() -> None:
    judged = watch(in_pod(GRANTED, "8-63"), 45.0)
    assert [bool(of(one, "grant_broken")) for one in judged] == [False, False, True, True]


def beside(granted: str, allowed: str, **fields: object) -> Script:
    """Pod web-0 has exclusive CPUs; llm-0, which has none, this cpuset."""
    node = replace(SHARING, **fields).granting("web-0", cpus=granted)  # type: ignore[arg-type]
    return in_pod(node, allowed)


def test_exclusive_cpus_that_another_pod_may_use() -> None:
    found = only(beside("8-15", "0-11"), "grant_broken")
    assert "may use CPUs 8-11, which are granted to prod/web-0/vllm alone" in found.sentence
    assert silent(beside("8-15", "0-7,16-63"), "grant_broken")


def test_the_same_cpus_given_twice() -> None:
    node = GRANTED.granting("web-0", cpus="4-11")
    assert (
        "may use CPUs 4-7, which are granted to prod/web-0/vllm" in only(in_pod(node, "0-7"), "grant_broken").sentence
    )


def test_within_a_pod_cpus_may_repeat() -> None:
    """An app container reuses the CPUs of an init container that ended."""
    state = GRANTED.kubelet.cpu
    assert state is not None
    again = replace(state.grants[0], container="init")
    node = GRANTED.with_kubelet(cpu=replace(state, grants=(*state.grants, again)))
    assert silent(in_pod(node, "0-7"), "grant_broken")


@pytest.mark.parametrize("agent", ["koordlet-x7k2p", "katalyst-agent-4hzqd", "nri-resource-policy-balloons-9vkzt"])
def test_where_an_agent_writes_cpusets_no_grant_is_broken(agent: str) -> None:
    named = replace(GRANTED, names=names_of("llm-0", agent))
    assert silent(in_pod(named, "8-63"), "grant_broken")
    listed = GRANTED.with_kubelet(pods=(answer(agent),))
    assert silent(in_pod(listed, "8-63"), "grant_broken")


def test_under_policy_none_nothing_was_promised() -> None:
    state = GRANTED.kubelet.cpu
    assert state is not None
    assert silent(in_pod(GRANTED.with_kubelet(cpu=replace(state, policy="none")), "8-63"), "grant_broken")


def test_whose_container_is_not_known_is_not_judged() -> None:
    nameless = replace(GRANTED, names=Names()).with_kubelet(devices=None)
    assert silent(in_pod(nameless, "8-63"), "grant_broken")


def test_a_pod_that_ended_blocks_no_cpus() -> None:
    ended = SHARING.granting("ended", cpus="8-15").with_kubelet(living=frozenset())
    assert silent(in_pod(ended, "0-63"), "grant_broken")


@pytest.mark.parametrize(
    ("qos", "word"), [("burstable", "Burstable"), ("besteffort", "BestEffort"), ("", "whole number")]
)
def test_why_it_has_no_cpus_of_its_own(qos: str, word: str) -> None:
    assert word in only(in_pod(SHARING, "0-63", qos=qos), "not_exclusive").sentence


def test_the_topology_policy_is_named_where_there_is_one() -> None:
    assert "aligns" not in only(in_pod(replace(SHARING, topology="none"), "0-63"), "not_exclusive").sentence


def test_exclusive_cpus_of_its_own_or_of_its_pod() -> None:
    assert silent(in_pod(GRANTED, "0-7"), "not_exclusive")
    state = SHARING.kubelet.cpu
    assert isinstance(state, CpuManagerState)
    pods = replace(answer("llm-0", "GPU-0"), cpus=cpus("0-7"))
    assert silent(in_pod(SHARING.with_kubelet(pods=(pods,)), "0-7"), "not_exclusive")


def test_on_one_node_there_is_nothing_to_gain() -> None:
    assert silent(in_pod(Node(single_node()).granting("llm-0", gpus=("GPU-0",)), "0-7"), "not_exclusive")


def test_a_sidecar_without_a_gpu_is_not_told_to_be_exclusive() -> None:
    tasks = pod_task(1, "llm-0", gpus="GPU-0"), pod_task(2, "llm-0", container="side")
    node = replace(GRANTED, names=names_of("llm-0", containers=("vllm", "side")))
    assert silent(lambda at: node.sample(*tasks, at=at, cgroups=[pod_cgroup("llm-0", "0-7")]), "not_exclusive")


def note(**fields: object) -> str:
    return only(in_pod(replace(GRANTED, **fields), "0-7"), "policy_note").sentence  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        ("best-effort", "admits every pod, aligned or not"),
        ("restricted", "could ever hold across several, which here begins with 5 GPUs"),
        ("single-numa-node", "whatever gives it a hint, and nothing else"),
    ],
)
def test_what_each_policy_admits(topology: str, words: str) -> None:
    assert words in note(topology=topology)


def test_all_gpus_on_one_node_no_request_is_too_wide() -> None:
    parts = two_socket(4)
    near = tuple(replace(gpu, function=parts.gpus.gpus[0].function) for gpu in parts.gpus.gpus)
    sentence = note(parts=parts.with_gpus(*near), topology="restricted")
    assert "could ever hold across several;" in sentence


def test_managers_that_give_no_hints() -> None:
    any_node = "may lie on any node."
    assert f"; CPUs of an admitted pod and memory of an admitted pod {any_node}" in note(policy="none")
    part = "; CPUs of a pod that is not Guaranteed or asks for a part of one"
    assert f"{part} and memory of an admitted pod {any_node}" in note()
    assert f"{part} and memory of a pod that is not Guaranteed {any_node}" in note(memory="Static")


def test_of_a_manager_that_is_not_known_nothing_is_said() -> None:
    told = GRANTED.kubelet.config
    assert told is not None
    unknown = GRANTED.with_kubelet(memory=None, config=replace(told, memory_manager_policy=None))
    assert "memory" not in only(in_pod(unknown, "0-7"), "policy_note").sentence


def test_the_evidence_lies_below_the_kubelets_folder() -> None:
    moved = Settings(kubelet_root="/var/lib/k0s/kubelet")
    for node, allowed, code in ((GRANTED, "0-7", "policy_note"), (SHARING, "0-63", "not_exclusive")):
        (found,) = of(watch(in_pod(node, allowed), 60.0, settings=moved)[-1], code)
        paths = {told.path for told in found.evidence if "cpu_manager_state" in told.path}
        assert paths == {"/var/lib/k0s/kubelet/cpu_manager_state"}


def test_a_configuration_that_is_not_in_force() -> None:
    asked = config(topologyManagerPolicy="none", cpuManagerPolicy="static")
    node = replace(GRANTED, policy="none").with_kubelet(config=asked)
    assert (
        "runs with cpuManagerPolicy none though its configuration asks for static"
        in only(in_pod(node, "0-7"), "policy_note").sentence
    )


def test_on_one_node_there_is_nothing_to_align() -> None:
    assert silent(in_pod(Node(single_node()).granting("llm-0", gpus=("GPU-0",)), "0-7"), "policy_note")
