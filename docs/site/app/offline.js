/* All of the site is there without a network after the first visit: the service worker keeps it. */

import { t } from "./said.js";

/** Start the service worker, once `loaded` has settled, and let it keep Python too. */
export async function keep(app, loaded) {
  if (!("serviceWorker" in navigator)) return;
  await loaded?.catch(() => {}); // one download at a time
  const before = navigator.serviceWorker.controller;
  if (before) navigator.serviceWorker.addEventListener("controllerchange", updated, { once: true });
  try {
    const { version } = await (await fetch(new URL("files.json", app), { cache: "no-cache" })).json();
    // Another address for each build: the browser then installs the new one beside the old.
    await navigator.serviceWorker.register(new URL(`../sw.js?${version}`, app), { updateViaCache: "none" });
  } catch {
    return; // no network, or a private window: what is there stays
  }
  const { active } = await navigator.serviceWorker.ready;
  active.postMessage("keep Python");
}

/** The page is the old build's, and everything that it loads from now on the new one's. */
function updated() {
  const line = document.createElement("p");
  line.className = "site-updated";
  line.setAttribute("role", "status");
  line.innerHTML = `${t("The course has been updated. Nothing of yours is lost.")} <button type="button">${t("Reload")}</button>`;
  line.querySelector("button").addEventListener("click", () => location.reload());
  document.body.append(line);
}
