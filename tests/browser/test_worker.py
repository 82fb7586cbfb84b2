"""People's pages in a real browser: by keyboard, on a phone, right to left, a draft, hostile candidates, and review."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SOURCE = ("Der alte Mann saß lange am Fenster und sah dem Regen zu .", range(8, 12))
REFERENCE = ("The old man sat at the window for a long time , watching the rain .", range(12, 15))
ALTERNATIVES = [
    ("The old man sat at the window for a long time and watched the rain .", range(12, 15)),
    ("The old man long sat by the window and looked at the rain to .", range(9, 14)),
    ("Long sat the old man at the window and the rain too .", range(9, 12)),
    ("The old man was sitting by the window for hours , watching it rain .", range(11, 14)),
]
ARABIC = ("جلس الرجل العجوز طويلا عند النافذة يراقب المطر .", range(6, 8))
ARABIC_ALTERNATIVES = [
    ("The old man sat at the window for a long time watching the rain .", range(11, 14)),
    ("Sat the old man long at the window he control the rain .", range(8, 12)),
]


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A tab of its own that fails the test at the first error of a script and notes what the policy refused."""
    context = chromium.new_context(locale="en-GB", viewport={"width": 1100, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(10_000)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    yield tab
    context.close()
    assert errors == []


def begin(page: Any, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="Begin").first.click()
    page.wait_for_selector("html.keys form.judge")  # the script is there, too


def test_a_label_hit_is_judged_by_keyboard_alone(market: Any, page: Any, tmp_path: Path) -> None:
    hits = [
        market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES, REFERENCE), f"rypt:b1:{n}")
        for n in range(2)
    ]
    invitation = market.store.people.invite("Ada", 0)
    page.goto(f"{market.info['url']}w/{invitation.token}")
    for key in ("Tab", "Tab", "Tab", "Space", "Tab", "Enter"):  # skip link, brand, agree, start
        page.keyboard.press(key)
    page.get_by_role("heading", name="Work for you").wait_for()
    page.get_by_role("button", name="Begin").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("form.judge")
    status = page.get_by_role("status").last
    assert status.inner_text() == "0 of 4 answered"
    assert page.locator("kbd.key").first.is_visible()
    page.keyboard.press("1")
    page.keyboard.press("2")
    assert status.inner_text() == "2 of 4 answered"
    page.keyboard.press("Enter")  # not complete: nothing is sent
    assert "2 left" in status.inner_text()
    page.keyboard.press("k")
    page.keyboard.press("3")  # the second once more
    page.screenshot(path=tmp_path / "worker-label.png")
    page.keyboard.press("2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("j")
    page.keyboard.press("1")
    assert status.inner_text() == "4 of 4 answered"
    page.keyboard.press("Enter")
    page.wait_for_url("**said=sent_next")
    [answer] = market.answers(hits[0])
    assert answer["fields"] == {
        "label_1": "YES",
        "label_2": "NOT_SURE",
        "label_3": "NO",
        "label_4": "YES",
        "comment": "",
    }
    assert status.inner_text() == "0 of 4 answered"  # the next hit, without the draft of the last
    assert "$0.05" in page.locator("header").inner_text()


def test_a_comparison_is_judged_by_hand_on_a_phone(market: Any, chromium: Any) -> None:
    first = market.comparison_page("en", ("de", "en"), SOURCE[0], ALTERNATIVES[0][0], ALTERNATIVES[2][0])
    hit = market.publish(first, "rypt:b2:1")
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(market.invite("Bert"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Begin").tap()
    page.get_by_role("radio", name="B is better").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not page.locator("kbd.key").first.is_visible()  # no keys on a phone
    page.get_by_text("B is better").tap()
    assert all(
        box["height"] >= 44 for box in (found.bounding_box() for found in page.locator("label.choice").all())
    )
    page.get_by_role("button", name="Send").tap()
    page.get_by_text("your answers are saved").wait_for()
    context.close()
    [answer] = market.answers(hit)
    assert answer["fields"] == {"choice": "B", "comment": ""}


def test_arabic_reads_from_right_to_left(market: Any, page: Any, tmp_path: Path) -> None:
    hit = market.publish(
        market.label_page("ar", ("ar", "en"), ARABIC, ARABIC_ALTERNATIVES), "rypt:b3:1", "تقييم ترجمات"
    )
    page.goto(market.invite("ليلى"))
    page.get_by_role("button", name="العربية").click()
    assert page.locator("html").get_attribute("dir") == "rtl"
    page.get_by_role("button", name="ابدأ").click()
    source = page.locator(".source")
    assert (source.get_attribute("dir"), source.get_attribute("lang")) == ("rtl", "ar")
    sides = "e => { const r = document.createRange(); r.selectNodeContents(e); const t = r.getBoundingClientRect();"
    sides += " const b = e.getBoundingClientRect(); return [t.left - b.left, b.right - t.right]; }"
    left, right = source.evaluate(sides)
    assert left > right  # the text begins at the right edge
    candidate = page.locator("fieldset .text").first
    left, right = candidate.evaluate(sides)
    assert left < right  # an English one at the left
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.screenshot(path=tmp_path / "worker-rtl.png")
    page.keyboard.press("Enter")
    page.get_by_text("حُفظت إجاباتك").wait_for()
    [answer] = market.answers(hit)
    assert answer["fields"] == {"label_1": "YES", "label_2": "NO", "comment": ""}


def test_an_unsent_page_survives_a_reload(market: Any, page: Any) -> None:
    hit = market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES), "rypt:b4:1")
    begin(page, market.invite("Cora"))
    page.keyboard.press("2")
    page.get_by_label("Comment").fill("not <sure> about the others")
    page.goto("about:blank")
    page.go_back()
    page.reload()
    assert page.get_by_label("Comment").input_value() == "not <sure> about the others"
    assert page.locator("input[name=label_1][value=NO]").is_checked()
    assert page.evaluate("Object.keys(localStorage).length") == 1
    for n in range(1, 5):
        page.locator(f"input[name=label_{n}][value=NO]").check()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("your answers are saved").wait_for()
    assert page.evaluate("Object.keys(localStorage).length") == 0
    [answer] = market.answers(hit)
    assert answer["fields"]["comment"] == "not <sure> about the others"


def test_no_script_of_a_page_or_candidate_runs(market: Any, page: Any) -> None:
    evil = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    candidates = [(f"{evil} The rain", range(2)), ("a b c", range(1))]
    market.publish(
        market.label_page("en", ("de", "en"), (f"{evil} Regen", range(1)), candidates), "rypt:b5:1"
    )
    raw = f"<html><body onload='window.hacked=1'><form action='https://evil.example/'>{evil}"
    raw += "<svg><script>window.hacked=1</script></svg><iframe srcdoc='<script>parent.hacked=1</script>'></iframe>"
    raw += (
        "<a href='javascript:window.hacked=1'>link</a><input name=label_1 onfocus=window.hacked=1 autofocus>"
    )
    market.publish(
        raw + "<style>body{display:none}</style><meta http-equiv=refresh content='0;url=//evil'>", "x"
    )
    begin(page, market.invite("Dora"))
    assert "<script>" in page.locator(".source").inner_text()  # shown as text
    page.keyboard.press("1")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**said=sent_next")
    page.locator("input[name=label_1]").fill("x")
    page.get_by_text("link").click()
    assert page.evaluate("window.hacked") is None
    assert page.url.startswith(market.info["url"])
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)"
    )
    assert page.evaluate("window.hacked") is None  # the policy stops what would slip through
    page.get_by_role("button", name="OK").click()
    page.get_by_text("your answers are saved").wait_for()


def test_a_key_too_many_changes_no_answer_and_the_way_back_is_a_key(market: Any, page: Any) -> None:
    hit = market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES), "rypt:b8:1")
    begin(page, market.invite("Gerd"))
    for key in "1221":
        page.keyboard.press(key)
    focused = "document.activeElement.matches('form.judge button')"
    assert page.evaluate(focused)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in "3213":
        page.keyboard.press(key)  # a stray key, and more
    values = "[...document.querySelectorAll('form.judge input:checked')].map(input => input.value).join(' ')"
    assert page.evaluate(values) == "YES NO NO YES"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("3")  # with the focus nowhere, too
    assert page.evaluate(values) == "YES NO NO YES"
    page.get_by_role("button", name="Send").focus()
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    assert page.evaluate("document.activeElement.name") == "label_3"
    page.keyboard.press("3")
    assert page.evaluate(values) == "YES NO NOT_SURE YES"
    page.get_by_label("Comment").press("Backspace")  # in a text it erases
    assert page.evaluate("document.activeElement.name") == "comment"
    page.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    page.get_by_text("your answers are saved").wait_for()
    [answer] = market.answers(hit)
    assert [answer["fields"][f"label_{n}"] for n in range(1, 5)] == ["YES", "NO", "NOT_SURE", "YES"]


def test_keys_on_markets_that_show_the_page_as_it_is(market: Any, page: Any) -> None:
    page.set_content(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES))
    values = "[...document.querySelectorAll('form.judge input:checked')].map(input => input.value).join(' ')"
    for key in "12213":  # one more than there are questions
        page.keyboard.press(key)
    assert page.evaluate(values) == "YES NO NO YES"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("3")
    assert page.evaluate(values) == "YES NO NO YES"


def test_tab_goes_through_the_questions_in_order_and_shows_where_it_is(market: Any, page: Any) -> None:
    market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES), "rypt:b9:1")
    begin(page, market.invite("Hilde"))
    page.locator("summary").focus()
    where = "document.activeElement.name || document.activeElement.textContent.trim()"
    outlined = """(() => { for (let e = document.activeElement; e; e = e.parentElement)
        if (getComputedStyle(e).outlineStyle === 'solid') return true; return false; })()"""
    reached = []
    for _ in range(7):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(where))
        assert page.evaluate(outlined), reached[-1]
    assert reached[:4] == ["label_1", "label_2", "label_3", "label_4"]
    assert reached[4:6] == ["comment", "Send"]


def test_the_plain_form_works_without_javascript(market: Any, chromium: Any) -> None:
    hit = market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES), "rypt:b6:1")
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(market.invite("Emil"))
    page.get_by_role("button", name="Begin").click()
    page.locator("kbd.key").first.wait_for(state="hidden")  # once the style sheet is there
    for n in range(1, 5):
        page.locator(f"input[name=label_{n}][value=YES]").check()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("your answers are saved").wait_for()
    context.close()
    assert len(market.answers(hit)) == 1


def test_the_dashboard_approves_rejects_and_blocks(market: Any, page: Any, tmp_path: Path) -> None:
    hits = [
        market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES), f"rypt:b7:{n}")
        for n in range(3)
    ]
    begin(page, market.invite("Fritz"))
    for _ in range(2):
        for key in "1211":
            page.keyboard.press(key)
        with page.expect_navigation(url="**said=sent_next"):
            page.keyboard.press("Enter")
    page.goto(market.info["dashboard_url"], wait_until="commit")
    page.get_by_role("heading", name="Workers").wait_for()
    assert "token" not in page.url
    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_text("Reject…").click()
    page.get_by_label("Reason").fill("All the same")
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("Nothing waits").wait_for()
    assert [answer["AssignmentStatus"] for hit in hits[:2] for answer in market.answers(hit)] == [
        "Approved",
        "Rejected",
    ]
    page.get_by_role("link", name="Overview").click()
    page.get_by_text("Block…").click()
    page.get_by_label("Reason").fill("Too fast")
    page.get_by_role("button", name="Block").click()
    page.get_by_role("button", name="Unblock").wait_for()
    assert [worker.blocked for worker in market.store.people.all()] == ["Too fast"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_scrolls_sideways_on_a_phone(market: Any, chromium: Any, scheme: str) -> None:
    for n in range(2):
        market.publish(market.label_page("en", ("de", "en"), SOURCE, ALTERNATIVES, REFERENCE), f"rypt:b9:{n}")
    context = chromium.new_context(
        locale="en-GB", viewport={"width": 390, "height": 844}, color_scheme=scheme
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    widths, grounds = [], set()

    def look() -> None:
        page.wait_for_load_state()  # with its style
        widths.append(page.evaluate("document.documentElement.scrollWidth"))
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.goto(market.invite("Ada"))
    look()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("html.keys form.judge")
    look()
    for key in "1211":
        page.keyboard.press(key)
    with page.expect_navigation(url="**said=sent_next"):
        page.keyboard.press("Enter")
    page.goto(market.info["dashboard_url"], wait_until="commit")
    page.get_by_role("heading", name="Workers").wait_for()
    look()
    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_role("heading", name="Review").wait_for()
    look()
    context.close()
    assert widths == [390] * 4
    assert grounds == {{"light": "rgb(244, 245, 247)", "dark": "rgb(20, 23, 27)"}[scheme]}
