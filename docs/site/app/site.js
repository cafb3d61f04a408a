/* The first script of every page. It is no module itself: an import map must be there before the first module loads.
 * modules.json names the modules of others that the editor needs, as files below modules/. */
{
  const app = new URL("./", document.currentScript.src);
  const bench = document.querySelector(".workbench");

  const importMap = async () => {
    const named = await (await fetch(new URL("modules.json", app))).json();
    const addresses = Object.entries(named).map(([name, path]) => [name, new URL(`modules/${path}`, app).href]);
    const map = document.createElement("script");
    map.type = "importmap";
    map.textContent = JSON.stringify({ imports: Object.fromEntries(addresses) });
    document.head.append(map);
  };

  const started = async () => {
    if (bench) await importMap();
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
