// For markets that show the page as it is: where the answers go, and keys 1 to 5. Without it the form still works.
(function () {
  "use strict";
  var form = document.querySelector("form.judge");
  var query = new URLSearchParams(window.location.search);
  var assignment = query.get("assignmentId");
  var target = query.get("turkSubmitTo");
  if (target && target.indexOf("https://") === 0) {
    form.action = target.replace(/\/+$/, "") + "/mturk/externalSubmit";
  }
  if (assignment) {
    var field = document.createElement("input");
    field.type = "hidden";
    field.name = "assignmentId";
    field.value = assignment;
    form.appendChild(field);
  }
  if (assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    form.querySelector("button").disabled = true;
  }
  var sets = Array.prototype.slice.call(form.querySelectorAll("fieldset:not([hidden])"));
  document.documentElement.classList.add("keys");
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (!/^[1-9]$/.test(event.key)) return;
    var open = sets.filter(function (set) { return !set.querySelector("input:checked"); });
    var set = document.activeElement.closest("fieldset") || open[0];
    var input = set && set.querySelector("input[data-key='" + event.key + "']");
    if (!input) return;
    event.preventDefault();
    input.checked = true;
    var next = sets[sets.indexOf(set) + 1];
    (next ? next.querySelector("input") : form.querySelector("button")).focus();
  });
})();
