"""Content-Security-Policy: nothing but this page's own style and script, each allowed by its hash."""

from base64 import b64encode
from hashlib import sha256


def source_hash(text: str) -> str:
    """A CSP hash source: 'sha256-…' of the element's text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def content_security_policy(style: str, script: str) -> str:
    """The header's value. `connect-src` is for the refresh; nothing may frame the page."""
    return "; ".join(
        (
            "default-src 'none'",
            "connect-src 'self'",
            f"style-src {source_hash(style)}",
            f"script-src {source_hash(script)}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
