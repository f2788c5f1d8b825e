# Two stages: the first has pip and the builder, the second only what runs. Both from one base, for the virtual
# environment points at that base's interpreter. Nothing is compiled: every dependency has a wheel for amd64 and arm64.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=1767225600
# Hashes for everything that comes from outside; the environment that is kept has no pip of its own.
COPY requirements.lock requirements-build.lock ./
RUN python3 -m venv /build \
    && /build/bin/pip install --require-hashes --only-binary :all: -r requirements-build.lock \
    && python3 -m venv --without-pip /opt/numa-exporter \
    && /build/bin/pip --python /opt/numa-exporter/bin/python install --no-compile --require-hashes --only-binary :all: \
        -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY numa_exporter numa_exporter
# Bytecode that is never checked against its source, for the root file system is read-only.
RUN /build/bin/python -m hatchling build -t wheel -d /dist \
    && /build/bin/pip --python /opt/numa-exporter/bin/python install --no-compile --no-deps --no-index /dist/*.whl \
    && /opt/numa-exporter/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/numa-exporter/lib

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="numa-exporter" \
      org.opencontainers.image.description="NUMA placement of GPU workloads for Prometheus" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH="/opt/numa-exporter/bin:${PATH}" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/numa-exporter /opt/numa-exporter

# Started plainly it is nobody, and says what it may not see. To see other users' pages it must be started as root with
# two capabilities, as the DaemonSet does. Not file capabilities: no_new_privs (allowPrivilegeEscalation: false) makes
# them void, an interpreter that carries them gives them to every script, and layers lose them. Not ambient ones:
# Kubernetes cannot give them. And the kubelet's socket is root's, which no reading capability opens.
USER 65532:65532
EXPOSE 10062
# For docker and podman; Kubernetes has its own probes. With TLS or another port: --no-healthcheck.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
    CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:10062/-/healthy', timeout=4)"]
ENTRYPOINT ["numa-exporter"]
CMD ["serve"]
