/* The first script of every page: its language, and what it loads, which depends on what stands there. */
{
  const app = new URL("./", document.currentScript.src);
  const bench = document.querySelector(".workbench");
  const CHOSEN = "flash-puzzles:language";

  // Who has chosen a language is led to it from the front page, and so is who has not, if the browser's is Chinese.
  const switches = document.querySelectorAll("a.language");
  for (const link of switches) {
    link.addEventListener("click", () => {
      try {
        localStorage.setItem(CHOSEN, link.dataset.language);
      } catch {
        // blocked: then nobody is led anywhere
      }
    });
  }
  const other = [...switches].find((link) => "front" in link.dataset);
  try {
    const wanted = localStorage.getItem(CHOSEN) ?? (navigator.languages[0]?.startsWith("zh") ? "zh" : "");
    const english = document.documentElement.lang.startsWith("en"); // a link to another front page is meant
    if (english && other?.dataset.language === wanted) location.replace(other.href);
  } catch {
    // blocked, too
  }

  const started = async () => {
    await import("./marks.js");
    await import("./picture.js");
    const loaded = bench ? (await import("./workbench.js")).start(bench) : undefined;
    await (await import("./offline.js")).keep(app, loaded);
  };

  const sentences = JSON.parse(document.querySelector("script.sentences")?.textContent ?? "{}");
  const t = (english) => sentences[english] ?? english; // as said.js, which a page without a server cannot load
  started().catch((error) => {
    if (bench && !bench.querySelector(".cm-editor")) {
      bench.textContent =
        location.protocol === "file:"
          ? t("The editor needs a web server: type “python3 -m http.server” in the site’s folder, and open the address that it prints.")
          : t("The editor could not be loaded. Reload the page once you are online, in a browser of 2024 or later.");
    }
    throw error;
  });
}
