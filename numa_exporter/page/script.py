"""The refresh: without it the page reads just as well, it only stays as old as it is."""

SCRIPT = """
(() => {
  const SECONDS = 15, PATIENCE = 2;
  const byId = id => document.getElementById(id);
  let missed = 0;

  // A focused element is found again by its own id, a <summary> by that of its <details>.
  const focused = main => {
    const element = document.activeElement;
    if (!main.contains(element)) return () => {};
    const own = element.id, parent = element.parentElement.id, tag = element.tagName;
    return () => {
      const found = byId(own) || (parent && byId(parent)?.querySelector(tag));
      found?.focus({preventScroll: true});
    };
  };

  const replace = fresh => {
    const main = byId("main"), headline = byId("headline").textContent, refocus = focused(main);
    for (const open of main.querySelectorAll("details[open]")) {
      const same = fresh.getElementById(open.id);
      if (same) same.open = true;
    }
    main.replaceChildren(...fresh.getElementById("main").childNodes);
    byId("as-of").replaceChildren(...fresh.getElementById("as-of").childNodes);
    refocus();
    // Speak only when the verdict changes, not at each refresh.
    if (byId("headline").textContent !== headline) byId("status").textContent = byId("headline").textContent;
  };

  const refresh = async () => {
    if (document.hidden || String(getSelection())) return;
    try {
      const answer = await fetch(location.pathname, {signal: AbortSignal.timeout(5000)});
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!fresh.getElementById("main")) throw new Error("not the page");
      const style = page => page.querySelector("style").textContent + page.body.className;
      // Other columns or another version: styles are allowed by hash, so only a new page can bring them.
      if (style(fresh) !== style(document)) return location.reload();
      replace(fresh);
      missed = 0;
    } catch {
      if (++missed === PATIENCE)
        byId("as-of").textContent = byId("status").textContent = "No answer from the agent: this page is old.";
    }
  };

  setInterval(refresh, SECONDS * 1000);
})();
"""
