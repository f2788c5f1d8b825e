"""What a client would rather have: Accept and Accept-Encoding with their weights (RFC 9110, 12.4 and 12.5)."""


def weight(header: str, *names: str) -> float:
    """The weight, 0 to 1, that a header gives to the most specific of these names; 0 where it has none of them."""
    found: dict[str, float] = {}
    for entry in header.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        found[name] = max(found.get(name, 0.0), _q(parameters))
    return next((found[name] for name in names if name in found), 0.0)


def _q(parameters: list[str]) -> float:
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0


def wants_open_metrics(accept: str) -> bool:
    """Whether OpenMetrics is asked for by name and nothing is liked better."""
    asked = weight(accept, "application/openmetrics-text")
    return asked > 0 and asked >= weight(accept, "text/plain", "text/*", "*/*")


def takes_gzip(accept_encoding: str) -> bool:
    return weight(accept_encoding, "gzip", "*") > 0
