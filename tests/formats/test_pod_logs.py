import pytest

from numa_exporter.formats.pod_logs import ContainerLink, PodDirectory, parse_directory, parse_link

ID = "0123456789abcdef" * 4


def test_a_pods_directory() -> None:
    uid = "068e8fa0-9213-11e7-a01f-507b9d4141fa"
    assert parse_directory(f"prod_llm-0_{uid}") == PodDirectory(namespace="prod", pod="llm-0", uid=uid)
    assert parse_directory("kube-system_web.v1-node1_7260904bbd08e72e4dff95d9fccd2ee8") is not None


def test_a_containers_link() -> None:
    assert parse_link(f"llm-0_prod_vllm-server-{ID}.log") == ContainerLink(
        namespace="prod", pod="llm-0", container="vllm-server", container_id=ID
    )


@pytest.mark.parametrize("name", ["", "lost+found", "a_b", "a_b_c_d", "_b_c"])
def test_no_pods_directory(name: str) -> None:
    assert parse_directory(name) is None


@pytest.mark.parametrize(
    "name", ["", "x.log", f"a_b_c-{ID}", f"a_b_c-{ID[:-1]}.log", f"a_b-{ID}.log", f"a_b_-{ID}.log"]
)
def test_no_containers_link(name: str) -> None:
    assert parse_link(name) is None
