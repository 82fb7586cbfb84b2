"""Language pairs as files and their names spell them: ``Czech-English``, ``ces-eng``, ``cs-en`` are one pair."""

import re
from pathlib import Path

from rypt.text import PathLike

LANGUAGES = """
ar ara arabic, bg bul bulgarian, bn ben bengali, bho bhojpuri, ca cat catalan, cs ces cze czech, da dan danish,
de deu ger german, el ell greek, en eng english, es spa spanish, et est estonian, fa fas per persian farsi,
fi fin finnish, fr fra fre french, gu guj gujarati, ha hau hausa, he heb hebrew, hi hin hindi, hr hrv croatian,
hu hun hungarian, id ind indonesian, is isl ice icelandic, it ita italian, iu iku inuktitut, ja jpn japanese,
kk kaz kazakh, km khm khmer, ko kor korean, ln lin lingala, lt lit lithuanian, lv lav latvian, mai maithili,
mas masai maasai, mr mar marathi, ms msa malay, ne nep nepali, nl nld dut dutch, no nor norwegian, pl pol polish,
ps pus pashto, pt por portuguese, ro ron rum romanian, ru rus russian, sk slk slovak, sl slv slovenian,
so som somali, sr srp serbian, sv swe swedish, sw swa swahili, ta tam tamil, te tel telugu, th tha thai,
tr tur turkish, uk ukr ukrainian, ur urd urdu, vi vie vietnamese, xh xho xhosa, yo yor yoruba,
zh zho chi chinese, zu zul zulu
"""
CODES = {name: names.split()[0] for names in LANGUAGES.split(",") for name in names.split()}
_PAIR = re.compile(
    r"(?<![A-Za-z])([A-Za-z]{2,11})(?:_(?:[A-Z]{2}|[A-Z][a-z]{3}))*(?:-|,|2|_to_|-to-)([A-Za-z]{2,11})(?![A-Za-z])"
)
_DOMAIN = re.compile(r"test-[a-z]{2,3}-([a-z]+)_")
_JOINED = re.compile(r"(?<![A-Za-z])([a-z]{2})([a-z]{2})(?![A-Za-z])")


def language(name: str) -> str:
    """The short code of a language; an unknown name stays as it is, in lower case, without its region.

    >>> [language(name) for name in ("Czech", "ces", "cs_CZ", "Klingon")]
    ['cs', 'cs', 'cs', 'klingon']
    """
    plain = re.split(r"[_-]", name.strip())[0].lower()
    return CODES.get(plain, plain)


def pair_key(pair: str) -> str:
    """What spellings of one pair have in common.

    >>> pair_key("English-Hindi"), pair_key("eng-hin"), pair_key("en_US-hi_IN"), pair_key("")
    ('en-hi', 'en-hi', 'en-hi', '')
    """
    source, dash, target = pair.replace("→", "-").replace(",", "-").partition("-")
    return f"{language(source)}-{language(target)}" if dash else pair.strip().lower()


def pair_in_name(path: PathLike) -> str:
    """The language pair in the name of a file, as it is spelled there; empty where there is none.

    >>> [pair_in_name(name) for name in ("wmt10.Czech-English", "mqm_ted_ende.tsv.gz", "ces_Latn-deu_Latn", "ranks")]
    ['Czech-English', 'en-de', 'ces-deu', '']
    """
    name = Path(str(path)).name
    for source, target in _PAIR.findall(name):
        if source.lower() in CODES and target.lower() in CODES and language(source) != language(target):
            return f"{source}-{target}"
    for source, target in _JOINED.findall(name):
        if source in CODES and target in CODES and source != target:
            return f"{source}-{target}"
    return ""


def domain_in_document(document: str) -> str:
    """The domain in WMT24's names of documents; empty in other names.

    >>> domain_in_document("test-en-speech_WbO8dOhsgY4_003"), domain_in_document("rt.com.39936")
    ('speech', '')
    """
    domain = _DOMAIN.match(document)
    return domain.group(1) if domain else ""
