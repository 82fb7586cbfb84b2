"""Security of the pages: signed cookies, tokens in forms, and HTTP headers."""

import hmac
from hashlib import sha256

from itsdangerous import BadSignature, Signer, TimestampSigner

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
MAX_BODY = 10_000_000  # bytes of a requester's call
MAX_FORM = 3_000_000  # bytes of a form
COOKIE_LIFE = 60 * 86400


class Seals:
    """Signed cookies and form tokens of one key: whoever does not know it cannot make them (itsdangerous)."""

    def __init__(self, key: str) -> None:
        self._cookies = TimestampSigner(key, salt="rypt cookie", key_derivation="hmac", digest_method=sha256)
        self._forms = Signer(key, salt="rypt form", key_derivation="hmac", digest_method=sha256)

    def seal(self, text: str) -> str:
        """A text that `unseal` gives back for 60 days, and nobody else can write.

        >>> seals = Seals("key")
        >>> seals.unseal(seals.seal("A1")), seals.unseal("A1.00"), Seals("other").unseal(seals.seal("A1"))
        ('A1', None, None)
        """
        return self._cookies.sign(text).decode()

    def unseal(self, sealed: str) -> str | None:
        try:
            return self._cookies.unsign(sealed, max_age=COOKIE_LIFE).decode() or None
        except (BadSignature, UnicodeError):
            return None

    def form_token(self, who: str) -> str:
        """What every form of a person carries: other sites cannot know it, so they cannot send our forms."""
        return self._forms.get_signature(who).decode()

    def form_is_ours(self, who: str, token: str) -> bool:
        try:
            return self._forms.verify_signature(who, token)
        except UnicodeError:
            return False


def same(text: str, secret: str) -> bool:
    """Whether a text is the secret, in a time that does not depend on how much of it is right."""
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), secret.encode("utf-8", "surrogatepass"))
