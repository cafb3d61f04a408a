/* Keeps the site for use without a network. One cache for each build of the site; one for Python, which outlives them. */

const ROOT = new URL("./", self.location);
const LIST = new URL("app/files.json", ROOT).href; // {version, files, pyodide: {version, files}}
const SITE = `flash-puzzles-site-${self.location.search.slice(1)}`;
const PYTHON = "flash-puzzles-python-";

const address = (path) => new URL(path, ROOT).href;
const listed = async () => (await (await caches.open(SITE)).match(LIST)).json();

async function install() {
  const list = await fetch(LIST, { cache: "no-cache" });
  const { files } = await list.clone().json();
  const cache = await caches.open(SITE);
  await cache.addAll(files.map((file) => new Request(address(file), { cache: "no-cache" })));
  await cache.put(LIST, list);
  await self.skipWaiting();
}

async function activate() {
  const python = PYTHON + (await listed()).pyodide.version;
  for (const name of await caches.keys()) {
    const ours = name.startsWith("flash-puzzles-");
    if (ours && name !== SITE && name !== python) await caches.delete(name);
  }
  await self.clients.claim();
}

async function keepPython() {
  const { version, files } = (await listed()).pyodide;
  const cache = await caches.open(PYTHON + version);
  for (const file of files) {
    // What a page has just loaded is in the browser's own cache, and is not sent again: no version changes its files.
    if (!(await cache.match(address(file)))) await cache.add(new Request(address(file), { cache: "force-cache" }));
  }
}

/** Of Python what was asked for before; anything else that it needs is kept from now on. */
async function python(url, { version }) {
  const cache = await caches.open(PYTHON + version);
  const found = await cache.match(url);
  if (found) return found;
  const fresh = await fetch(url);
  if (fresh.ok) await cache.put(url, fresh.clone());
  return fresh;
}

async function answer(request) {
  const url = new URL(request.url);
  if (url.href === LIST) return fetch(request).catch(() => caches.match(LIST)); // tells whether there is a new build
  const { pyodide } = await listed();
  if (url.href.startsWith(new URL("./", address(pyodide.files[0])))) return python(url.href, pyodide);
  if (!url.href.startsWith(ROOT.href)) return fetch(request);
  url.search = url.hash = "";
  if (url.pathname.endsWith("/")) url.pathname += "index.html";
  const cache = await caches.open(SITE);
  const found = await cache.match(url.href);
  // A page that its host had redirected is no answer to a browser that goes there; the same content is.
  if (found) return found.redirected ? new Response(found.body, found) : found;
  const fresh = await fetch(request);
  if (fresh.ok) await cache.put(url.href, fresh.clone());
  return fresh;
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", (event) => event.waitUntil(keepPython()));
self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event.request));
});
