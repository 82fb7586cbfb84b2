"""What keeps strangers out: sealed cookies, tokens in forms, and the headers of every page."""

import hmac
from hashlib import sha256

CSP = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'self'",
}
MAX_BODY = 10_000_000


class Seals:
    """Seals with one key: whoever does not know it cannot make one, and all are compared in constant time."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def _mac(self, purpose: str, text: str) -> str:
        return hmac.digest(self._key, f"{purpose}:{text}".encode("utf-8", "surrogatepass"), sha256).hex()

    def seal(self, text: str) -> str:
        """A text that `unseal` gives back, and nobody else can write.

        >>> Seals("key").unseal(Seals("key").seal("A1")), Seals("key").unseal("A1.00"), Seals("other").unseal("A1")
        ('A1', None, None)
        """
        return f"{text}.{self._mac('cookie', text)}"

    def unseal(self, sealed: str) -> str | None:
        """The text of a seal that was made with this key, else None."""
        text, _, mac = sealed.rpartition(".")
        return text if text and same(mac, self._mac("cookie", text)) else None

    def form_token(self, who: str) -> str:
        """What every form of a person carries: other sites cannot know it, so they cannot send our forms."""
        return self._mac("form", who)

    def form_is_ours(self, who: str, token: str) -> bool:
        """Whether a form came with the token of this person."""
        return same(token, self.form_token(who))


def same(given: str, expected: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))


def security_headers(frame_src: str = "'none'") -> dict[str, str]:
    """The headers of a page; ``frame_src`` is the origin of the one page of others that it shows.

    >>> security_headers()["Content-Security-Policy"].split("; ")[:2]
    ["default-src 'none'", "script-src 'self'"]
    """
    policy = CSP | {"frame-src": frame_src}
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
