"""Security of the pages: signed cookies, tokens in forms, and HTTP headers."""

import hmac
from hashlib import sha256

from itsdangerous import BadSignature, Signer

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
    """Signed cookies and form tokens of one key: whoever does not know it cannot make them (itsdangerous)."""

    def __init__(self, key: str) -> None:
        self._cookies = Signer(key, salt="rypt cookie", key_derivation="hmac", digest_method=sha256)
        self._forms = Signer(key, salt="rypt form", key_derivation="hmac", digest_method=sha256)

    def seal(self, text: str) -> str:
        """A text that `unseal` gives back, and nobody else can write.

        >>> Seals("key").unseal(Seals("key").seal("A1")), Seals("key").unseal("A1.00"), Seals("other").unseal("A1")
        ('A1', None, None)
        """
        return self._cookies.sign(text).decode()

    def unseal(self, sealed: str) -> str | None:
        """The text that was sealed with this key, else None."""
        try:
            return self._cookies.unsign(sealed).decode() or None
        except (BadSignature, UnicodeError):
            return None

    def form_token(self, who: str) -> str:
        """What every form of a person carries: other sites cannot know it, so they cannot send our forms."""
        return self._forms.get_signature(who).decode()

    def form_is_ours(self, who: str, token: str) -> bool:
        """Whether a form came with the token of this person; compared in constant time."""
        try:
            return self._forms.verify_signature(who, token)
        except UnicodeError:
            return False


def same(given: str, expected: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass")
    )


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
