/* The first script of every page: what it loads depends on what stands there. */
{
  const app = new URL("./", document.currentScript.src);
  const bench = document.querySelector(".workbench");

  const started = async () => {
    await import("./marks.js");
    await import("./picture.js");
    const loaded = bench ? (await import("./workbench.js")).start(bench) : undefined;
    await (await import("./offline.js")).keep(app, loaded);
  };

  started().catch((error) => {
    if (bench && !bench.querySelector(".cm-editor")) {
      bench.textContent =
        location.protocol === "file:"
          ? "The editor needs a web server: type “python3 -m http.server” in the site’s folder, and open the address that it prints."
          : "The editor could not be loaded. Reload the page once you are online, in a browser of 2024 or later.";
    }
    throw error;
  });
}
