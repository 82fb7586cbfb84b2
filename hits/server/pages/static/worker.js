// Keys, drafts and a count of what is left. Without this file the pages work as plain forms.
(function () {
  "use strict";
  var root = document.documentElement;
  var PREFIX = "rypt-draft-";

  function store(action) {
    try { return action(window.localStorage); } catch (error) { return null; } // private windows may have none
  }

  // Drafts of pages that are no longer open were sent or given back.
  var open = (root.getAttribute("data-open") || "").split(" ");
  var frame = document.querySelector("[data-assignment]");
  if (frame) open.push(frame.getAttribute("data-assignment"));
  if (root.hasAttribute("data-open")) {
    store(function (kept) {
      Object.keys(kept).forEach(function (key) {
        if (key.indexOf(PREFIX) === 0 && open.indexOf(key.slice(PREFIX.length)) < 0) kept.removeItem(key);
      });
    });
  }
  // The time that is left of the hit, minute by minute.
  var left = document.querySelector(".left[data-left]");
  if (left) {
    var end = Date.now() + 1000 * Number(left.getAttribute("data-left"));
    window.setInterval(function () {
      var minutes = Math.max(0, Math.floor((end - Date.now()) / 60000));
      if (minutes < 120) left.textContent = left.getAttribute("data-minutes").replace("{n}", minutes);
      left.classList.toggle("late", minutes < 2);
    }, 5000);
  }

  // Where there is no work the page looks again, unless somebody is busy with it, or the market has closed.
  var sheet = document.querySelector("link[rel=stylesheet]");
  if (sheet && document.querySelector("[data-waiting]")) {
    var touched = 0;
    ["keydown", "pointerdown", "scroll"].forEach(function (name) {
      document.addEventListener(name, function () { touched = Date.now(); }, { passive: true });
    });
    window.setInterval(function () {
      if (document.hidden || Date.now() - touched < 10000) return;
      var probe = document.createElement("link"); // loads only where the market answers
      probe.rel = "stylesheet";
      probe.href = sheet.href + "?" + Date.now();
      probe.onload = function () { window.location.reload(); };
      probe.onerror = function () { probe.remove(); };
      document.head.appendChild(probe);
    }, 10000);
  }

  var form = frame && frame.querySelector("form.judge");
  if (!form) return;

  var draft = PREFIX + frame.getAttribute("data-assignment");
  var bubble = document.querySelector(".answered");
  var inputs = Array.prototype.slice.call(form.querySelectorAll("input, select, textarea")).filter(function (input) {
    return input.name && input.type !== "hidden" && !input.matches(":disabled");
  });
  var sets = Array.prototype.slice.call(form.querySelectorAll("fieldset")).filter(function (set) {
    return !set.disabled && !set.hidden && set.querySelector("input[type=radio]");
  });
  var button = form.querySelector("button:not([type=button]):not([type=reset]), input[type=submit]");

  function isChoice(input) { return input.type === "radio" || input.type === "checkbox"; }
  function isAnswered(set) { return Boolean(set.querySelector("input:checked")); }
  function isRequired(set) { return Boolean(set.querySelector("input:required")); }
  function unanswered() { return sets.filter(function (set) { return !isAnswered(set); }); }
  function told(name, done, all) {
    return (frame.getAttribute("data-" + name) || "")
      .replace("{done}", done).replace("{all}", all).replace("{left}", all - done);
  }

  function count() {
    var left = unanswered().length;
    bubble.hidden = sets.length < 2;
    bubble.textContent = told("answered", sets.length - left, sets.length);
    bubble.classList.toggle("full", left === 0);
  }

  function save() {
    var values = inputs.filter(function (input) { return !isChoice(input) || input.checked; })
      .map(function (input) { return [input.name, input.value]; });
    store(function (kept) { kept.setItem(draft, JSON.stringify(values)); });
    count();
  }

  function restore() {
    var values = store(function (kept) { return JSON.parse(kept.getItem(draft)); });
    if (!Array.isArray(values)) return;
    inputs.forEach(function (input) {
      var mine = values.filter(function (pair) { return pair[0] === input.name; });
      if (isChoice(input)) {
        input.checked = mine.some(function (pair) { return pair[1] === input.value; });
      } else if (mine.length) {
        input.value = mine[0][1];
      }
    });
  }

  function enter(set) {
    var input = set ? set.querySelector("input:checked") || set.querySelector("input") : button;
    if (!input) return;
    input.focus({ preventScroll: true });
    var box = (set || input).getBoundingClientRect();
    if (box.top < 0 || box.bottom > window.innerHeight) (set || input).scrollIntoView({ block: "center" });
  }

  function current() {
    var set = document.activeElement && document.activeElement.closest("fieldset");
    return sets.indexOf(set);
  }

  function choose(key) {
    var at = current();
    var set = at >= 0 ? sets[at] : unanswered()[0]; // a key too many, after the last answer, changes none
    var input = set && set.querySelector("input[data-key='" + key + "']");
    if (!input) return false;
    input.checked = true;
    save();
    enter(sets[sets.indexOf(set) + 1] || unanswered()[0]);
    return true;
  }

  function move(by) {
    var at = current();
    enter(sets[at < 0 ? (by > 0 ? 0 : sets.length - 1) : Math.min(Math.max(at + by, 0), sets.length - 1)]);
    return true;
  }

  function send() {
    var left = unanswered().filter(isRequired);
    if (left.length) {
      bubble.hidden = false;
      bubble.textContent = told("missing", sets.length - left.length, sets.length);
      enter(left[0]);
    } else {
      HTMLFormElement.prototype.requestSubmit.call(form); // a field may be named "submit"
    }
    return true;
  }

  function onKey(event) {
    var target = event.target;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])")) return;
    var onRadio = target.matches("input[type=radio]");
    var taken = false;
    if (/^[1-9]$/.test(event.key)) taken = choose(event.key);
    else if (event.key === "j" || (event.key === "ArrowDown" && onRadio)) taken = move(1);
    else if (event.key === "k" || event.key === "Backspace" || (event.key === "ArrowUp" && onRadio)) taken = move(-1);
    else if (event.key === "Enter" && (onRadio || target === document.body)) taken = send();
    if (taken) event.preventDefault();
  }

  root.classList.add("keys");
  restore();
  count();
  form.addEventListener("input", save);
  form.addEventListener("change", save);
  form.addEventListener("submit", function () { if (button && !button.name) button.disabled = true; });
  window.addEventListener("pageshow", function () { if (button) button.disabled = false; count(); });
  document.addEventListener("keydown", onKey);
})();
