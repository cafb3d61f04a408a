// What judged.py says in Pyodide. Arguments: the site, judged.py. Requests and answers are lines of JSON.
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [site, script] = process.argv.slice(2);
const { start } = await import(`${site}/app/python.mjs`);
const { loadPyodide } = await import(`${site}/pyodide/pyodide.mjs`);
const archives = readdirSync(site).filter((name) => /^checker(-[a-z]\d+)?\.zip$/.test(name));
const packed = archives.map((name) => new Uint8Array(readFileSync(`${site}/${name}`)));
const { python } = await start(loadPyodide, `${site}/pyodide/`, packed);
python.runPython(readFileSync(script, "utf-8"), { globals: python.globals });
const judged = python.globals.get("judged");
for await (const line of createInterface({ input: process.stdin })) console.log(judged(line));
