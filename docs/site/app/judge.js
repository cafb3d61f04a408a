/* The workers that judge. One is asked. After its first answer a spare one loads, which takes over if the first hangs. */

import { t } from "./said.js";

const LANGUAGE = document.documentElement.lang.slice(0, 2); // in which answers come
const NOT_LOADED = t("Python could not be loaded. The first visit needs the network, and a browser with WebAssembly.");
const LOADING = { python: t("Loading Python (10 MB at the first visit) …"), checker: t("Starting the checker …") };

/** There is nobody to ask. The message is a sentence for the learner. */
export class Unavailable extends Error {}

/** A worker ended before it answered: by "time", "crash" or "stop". */
class Ended extends Error {
  constructor(ending) {
    super(ending);
    this.ending = ending;
  }
}

/** One worker, from its start to its end. */
class Hand {
  isReady = false;
  over = false;
  #opening; // how `ready` ends
  #asked = null; // what it is working on
  #worker;
  #tell;

  constructor(address, name, tell) {
    this.#tell = tell;
    this.ready = new Promise((resolve, reject) => (this.#opening = { resolve, reject }));
    this.ready.catch(() => {}); // whoever asks hears of it
    try {
      this.#worker = new Worker(address, { type: "module", name });
      this.#worker.onmessage = ({ data }) => this.#heard(data);
      this.#worker.onerror = this.#worker.onmessageerror = () => this.#broken(NOT_LOADED);
    } catch {
      this.#broken(NOT_LOADED);
    }
  }

  #heard(data) {
    if (data.loading) {
      this.#tell(LOADING[data.loading]);
      if (this.#asked) this.#restartClock(); // a download is not the kernel's fault
    } else if (data.alive) {
      if (this.#asked) this.#restartClock(); // one launch more is done
      if (this.#asked && data.every > 1) this.#tell(t("{what}: {done} of {every}", { ...data, what: data.about || t("launches") }));
    } else if (data.ready) {
      this.isReady = true;
      this.#opening.resolve();
    } else if (data.failed) {
      this.#broken(t("Python could not be loaded: {why}.", { why: data.failed }));
    } else if (data.id === this.#asked?.id) {
      this.#asked.resolve(data.answer);
      this.#rest();
    }
  }

  #broken(sentence) {
    this.end(this.isReady ? new Ended("crash") : new Unavailable(sentence));
  }

  #restartClock() {
    clearTimeout(this.#asked.timer);
    this.#asked.timer = setTimeout(() => this.end(new Ended("time")), this.#asked.seconds * 1000);
  }

  #rest() {
    clearTimeout(this.#asked?.timer);
    this.#asked = null;
  }

  /** The answer. Throws Unavailable, or Ended if the worker has to be replaced. */
  async ask(message, seconds) {
    await this.ready;
    return new Promise((resolve, reject) => {
      this.#asked = { id: crypto.getRandomValues(new Uint32Array(1))[0], resolve, reject, seconds };
      this.#restartClock();
      this.#worker.postMessage({ ...message, id: this.#asked.id });
    });
  }

  end(reason) {
    this.over = true;
    this.#worker?.terminate();
    this.#opening.reject(reason); // does nothing if it was ready
    this.#asked?.reject(reason);
    this.#rest();
  }
}

export class Judge {
  #first = null;
  #spare = null;

  /** `tell`: called with words about what is loading. */
  constructor(address, puzzle, seconds, tell) {
    this.address = address;
    this.name = `${LANGUAGE} ${puzzle}`;
    this.seconds = seconds;
    this.tell = tell;
  }

  /** Load what is needed, once more if that has failed. Throws Unavailable. */
  async start() {
    try {
      await this.#hand().ready;
    } catch (error) {
      if (error instanceof Ended) return this.start(); // stopped while it loaded
      throw error;
    }
  }

  get isReady() {
    return this.#hand().isReady;
  }

  /** An answer, or null if it was stopped. `message` makes the message, from how things are then. Throws Unavailable. */
  async ask(message) {
    try {
      return await this.#answer(message());
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      if (error.ending === "stop") return null;
      return await this.#answer({ ...message(), verb: "ended", ending: error.ending });
    }
  }

  stop() {
    this.#first?.end(new Ended("stop"));
    this.#hand(); // loads meanwhile
  }

  async #answer(message) {
    const answer = await this.#hand().ask(message, this.seconds);
    if (!this.#spare || this.#spare.over) this.#spare = new Hand(this.address, this.name, () => {});
    return answer;
  }

  #hand() {
    if (this.#first && !this.#first.over) return this.#first;
    const waits = this.#spare && !this.#spare.over;
    this.#first = waits ? this.#spare : new Hand(this.address, this.name, this.tell);
    this.#spare = null;
    return this.#first;
  }
}
