// A button beside each link that copies it. Without this file a click on a link selects it whole.
(function () {
  "use strict";
  if (!navigator.clipboard) return; // only over https and on this machine
  document.querySelectorAll("code.link").forEach(function (link) {
    var button = document.createElement("button");
    var name = link.parentElement.querySelector("bdi");
    button.type = "button";
    button.className = "plain copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the link of " + (name ? name.textContent : "all"));
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(link.textContent).then(function () { button.textContent = "Copied"; });
    });
    link.after(" ", button);
  });
})();
