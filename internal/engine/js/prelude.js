(function (global, native, env) {
  // What was thrown elsewhere becomes an error of the script's own, with the script's stack.
  const located = (name, call) => (...args) => {
    const error = name === "TypeError" ? new TypeError() : new Error();
    return call(...args).then(undefined, (reason) => {
      Object.defineProperty(error, "message", { value: reason.message, configurable: true, writable: true });
      if (name !== "TypeError") Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
      if (reason.code) error.code = reason.code;
      throw error;
    });
  };

  // The runtime's own recurses, and no error can be made of a stack that has no end.
  const parseJSON = JSON.parse;
  const guarded = {
    parse(text, reviver) {
      const json = String(text);
      if (json.length > 10000 && native.tooDeep(json)) throw new RangeError("JSON.parse: the text nests too deep");
      return parseJSON(json, reviver);
    },
  };
  Object.defineProperty(JSON, "parse", { value: guarded.parse, configurable: true, writable: true, enumerable: false });

  // What is shown may have code of its own, which may throw.
  const show = (value) => {
    try {
      return shown(value);
    } catch {
      return `[${typeof value} that can't be shown]`;
    }
  };
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return value.stack || String(value);
    if (typeof value !== "object" || value === null) return typeof value === "bigint" ? `${value}n` : String(value);
    if (value instanceof Map) return `Map(${value.size}) ${show([...value])}`;
    if (value instanceof Set) return `Set(${value.size}) ${show([...value])}`;
    try {
      return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v)) ?? String(value);
    } catch {
      return Object.prototype.toString.call(value);
    }
  };
  const say = (level) => (...values) => native.log(level, values.map(show).join(" "));
  global.console = {
    log: say("info"), info: say("info"), debug: say("debug"), trace: say("debug"), dir: say("info"),
    warn: say("warning"), error: say("error"),
    assert: (ok, ...values) => { if (!ok) say("error")("assertion failed:", ...values); },
  };

  global.setTimeout = (callback, delay, ...args) => native.timer(callback, delay, false, ...args);
  global.setInterval = (callback, delay, ...args) => native.timer(callback, delay, true, ...args);
  global.setImmediate = (callback, ...args) => native.timer(callback, 0, false, ...args);
  global.clearTimeout = global.clearInterval = global.clearImmediate = (id) => { if (typeof id === "number") native.forget(id); };
  global.queueMicrotask = (callback) => {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask: expected a function");
    Promise.resolve().then(callback);
  };
  const begun = Date.now();
  global.performance = { now: () => Date.now() - begun, timeOrigin: begun };
  global.process = Object.freeze({ env: Object.freeze({ ...env }), argv: Object.freeze([]), cwd: () => "/workspace", platform: "linux" });

  // No cell has so much memory, and to ask for it would end the engine before the cell's limit does.
  const mostBytes = 2 ** 31;
  for (const name of Object.getOwnPropertyNames(global).filter((n) => /^((Big)?(Ui|I)nt|Float)\d+(Clamped)?Array$|^ArrayBuffer$/.test(n))) {
    const real = global[name];
    const guarded = function (...args) {
      if (!new.target) throw new TypeError(`${name}: new is missing`);
      const length = typeof args[0] === "object" && args[0] !== null && !(args[0] instanceof ArrayBuffer) ? args[0].length : args[0];
      if (typeof length !== "object" && Number(length) * (real.BYTES_PER_ELEMENT ?? 1) > mostBytes) throw new RangeError(`${name}: more than 2 GiB`);
      return Reflect.construct(real, args, new.target === guarded ? real : new.target);
    };
    guarded.prototype = real.prototype;
    Object.setPrototypeOf(guarded, real);
    Object.defineProperty(guarded, "name", { value: name, configurable: true });
    Object.defineProperty(real.prototype, "constructor", { value: guarded, configurable: true, writable: true });
    Object.defineProperty(global, name, { value: guarded, configurable: true, writable: true });
  }

  global.TextEncoder = class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return new Uint8Array(native.encode(String(text))); }
  };
  global.TextDecoder = class TextDecoder {
    constructor(label = "utf-8", options = {}) {
      if (!/^utf-?8$/i.test(label)) throw new RangeError(`TextDecoder: only utf-8 is known here, not ${label}`);
      this.fatal = Boolean(options.fatal);
    }
    get encoding() { return "utf-8"; }
    decode(bytes) {
      if (bytes === undefined) return "";
      return native.decode(plain(bytes), this.fatal).replace(/^\uFEFF/, "");
    }
  };
  // Only arrays of bytes and buffers cross over.
  const plain = (value) =>
    ArrayBuffer.isView(value) && !(value instanceof Uint8Array) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value;

  global.btoa = (text) => native.base64(String(text), false);
  global.atob = (text) => native.base64(String(text).replace(/\s/g, ""), true);
  const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  global.crypto = Object.freeze({
    getRandomValues(array) {
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(new Uint8Array(native.random(array.byteLength)));
      return array;
    },
    randomUUID() {
      const b = new Uint8Array(native.random(16));
      b[6] = (b[6] & 0x0f) | 0x40;
      b[8] = (b[8] & 0x3f) | 0x80;
      return hex(b).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    },
  });

  global.structuredClone = (value) => {
    const seen = new Map();
    const clone = (v) => {
      if (typeof v === "function" || typeof v === "symbol") throw new TypeError(`structuredClone: a ${typeof v} can't be cloned`);
      if (typeof v !== "object" || v === null) return v;
      if (seen.has(v)) return seen.get(v);
      const keep = (copy) => { seen.set(v, copy); return copy; };
      if (v instanceof Date) return keep(new Date(v.getTime()));
      if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
      if (v instanceof ArrayBuffer) return keep(v.slice(0));
      if (ArrayBuffer.isView(v)) return keep(v.slice());
      if (v instanceof Map) { const m = keep(new Map()); v.forEach((x, k) => m.set(clone(k), clone(x))); return m; }
      if (v instanceof Set) { const s = keep(new Set()); v.forEach((x) => s.add(clone(x))); return s; }
      if (v instanceof Error) { const e = keep(new v.constructor(v.message)); e.stack = v.stack; return e; }
      const copy = keep(Array.isArray(v) ? [] : {});
      for (const key of Object.keys(v)) copy[key] = clone(v[key]);
      return copy;
    };
    return clone(value);
  };

  const form = (text) => native.escapeURL(text).replace(/~/g, "%7E").replace(/%2A/g, "*");
  const unform = (text) => {
    const spaced = text.replace(/\+/g, " ");
    try { return decodeURIComponent(spaced); } catch { return spaced; }
  };
  const pairsOf = (init) => {
    if (typeof init === "string") {
      return init.replace(/^\?/, "").split("&").filter(Boolean).map((part) => {
        const at = part.indexOf("=");
        return at < 0 ? [unform(part), ""] : [unform(part.slice(0, at)), unform(part.slice(at + 1))];
      });
    }
    const list = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
    return list.map(([k, v]) => [String(k), String(v)]);
  };
  class URLSearchParams {
    #pairs;
    constructor(init = "") { this.#pairs = pairsOf(init); }
    get(name) { return this.#pairs.find(([k]) => k === name)?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter(([k]) => k === name).map(([, v]) => v); }
    has(name) { return this.#pairs.some(([k]) => k === name); }
    append(name, value) { this.#pairs.push([String(name), String(value)]); }
    delete(name) { this.#pairs = this.#pairs.filter(([k]) => k !== name); }
    set(name, value) {
      const at = this.#pairs.findIndex(([k]) => k === name);
      if (at < 0) return this.append(name, value);
      this.#pairs = this.#pairs.filter(([k], i) => k !== name || i === at);
      this.#pairs[this.#pairs.findIndex(([k]) => k === name)][1] = String(value);
    }
    sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); }
    get size() { return this.#pairs.length; }
    forEach(callback, self) { this.#pairs.forEach(([k, v]) => callback.call(self, v, k, this)); }
    entries() { return this.#pairs.map((p) => [...p])[Symbol.iterator](); }
    keys() { return this.#pairs.map(([k]) => k)[Symbol.iterator](); }
    values() { return this.#pairs.map(([, v]) => v)[Symbol.iterator](); }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([k, v]) => `${form(k)}=${form(v)}`).join("&"); }
  }
  global.URLSearchParams = URLSearchParams;

  global.URL = class URL {
    #parts;
    #params;
    constructor(url, base) {
      this.#parts = native.parseURL(String(url), base === undefined ? undefined : String(base));
      this.#params = new URLSearchParams(this.#parts.search);
    }
    static canParse(url, base) { try { new URL(url, base); return true; } catch { return false; } }
    get protocol() { return this.#parts.protocol; }
    get username() { return this.#parts.username; }
    get password() { return this.#parts.password; }
    get hostname() { return this.#parts.hostname; }
    get port() { return this.#parts.port; }
    get host() { return this.#parts.host; }
    get pathname() { return this.#parts.opaque || this.#parts.pathname; }
    set pathname(value) { this.#parts.pathname = encodeURI(String(value)).replace(/^\/?/, "/"); }
    get search() { const s = this.#params.toString(); return s && `?${s}`; }
    set search(value) { this.#params = new URLSearchParams(String(value)); }
    get searchParams() { return this.#params; }
    get hash() { return this.#parts.hash; }
    set hash(value) { const text = String(value).replace(/^#/, ""); this.#parts.hash = text && `#${text}`; }
    get origin() { return this.#parts.host ? `${this.protocol}//${this.host}` : "null"; }
    get href() {
      const user = this.username && `${this.username}${this.password && `:${this.password}`}@`;
      return `${this.protocol}${this.#parts.host ? `//${user}${this.host}` : ""}${this.pathname}${this.search}${this.hash}`;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
  };

  class Headers {
    #map = new Map();
    constructor(init = {}) {
      const list = init instanceof Headers || Array.isArray(init) ? [...init] : Object.entries(init ?? {});
      for (const [name, value] of list) this.append(name, value);
    }
    append(name, value) {
      const key = String(name).toLowerCase();
      this.#map.set(key, this.#map.has(key) ? `${this.#map.get(key)}, ${value}` : String(value));
    }
    set(name, value) { this.#map.set(String(name).toLowerCase(), String(value)); }
    get(name) { return this.#map.get(String(name).toLowerCase()) ?? null; }
    has(name) { return this.#map.has(String(name).toLowerCase()); }
    delete(name) { this.#map.delete(String(name).toLowerCase()); }
    forEach(callback, self) { this.#map.forEach((v, k) => callback.call(self, v, k, this)); }
    entries() { return this.#map.entries(); }
    keys() { return this.#map.keys(); }
    values() { return this.#map.values(); }
    [Symbol.iterator]() { return this.#map.entries(); }
  }
  global.Headers = Headers;

  class Response {
    #all;
    #piece;
    #cancel;
    #used = false;
    constructor(raw) {
      this.#all = located("TypeError", raw.all);
      this.#cancel = raw.cancel;
      this.#piece = located("TypeError", raw.piece);
      this.status = raw.status;
      this.statusText = raw.statusText;
      this.url = raw.url;
      this.redirected = raw.redirected;
      this.ok = raw.status >= 200 && raw.status < 300;
      this.headers = new Headers(Array.from(raw.headers ?? [], (pair) => [...pair]));
    }
    get bodyUsed() { return this.#used; }
    #take() {
      if (this.#used) throw new TypeError("Response: the body was read before");
      this.#used = true;
    }
    get body() {
      return {
        locked: this.#used,
        getReader: () => {
          this.#take();
          const read = async () => {
            const piece = await this.#piece();
            return piece === null ? { done: true, value: undefined } : { done: false, value: new Uint8Array(piece) };
          };
          return { read, releaseLock() {}, cancel: async () => this.#cancel() };
        },
      };
    }
    async arrayBuffer() {
      this.#take();
      return this.#all();
    }
    async bytes() { return new Uint8Array(await this.arrayBuffer()); }
    async text() { return new TextDecoder().decode(await this.bytes()); }
    async json() { return JSON.parse(await this.text()); }
  }
  global.Response = Response;

  const send = located("TypeError", native.fetch);
  global.fetch = async (input, init) => {
    init ??= {};
    const headers = new Headers(init.headers);
    let body = init.body ?? null;
    const kind = (type) => { if (!headers.has("content-type")) headers.set("content-type", type); };
    if (body instanceof URLSearchParams) {
      kind("application/x-www-form-urlencoded;charset=UTF-8");
      body = body.toString();
    } else if (typeof body === "string") {
      kind("text/plain;charset=UTF-8");
    } else if (body !== null && typeof body === "object" && !(body instanceof ArrayBuffer) && !ArrayBuffer.isView(body)) {
      kind("application/json");
      body = JSON.stringify(body);
    }
    const method = String(init.method ?? "GET").toUpperCase();
    return new Response(await send(method, String(input?.url ?? input), [...headers], plain(body), String(init.redirect ?? "follow")));
  };

  global.__skill = (request, environment, own) => {
    const levels = { debug: "debug", info: "info", log: "info", warn: "warning", warning: "warning", error: "error" };
    const read = located("Error", own.readFile);
    return Object.freeze({
      request,
      env: Object.freeze({ ...environment }),
      progress: (pct, message = "") => own.progress(Number(pct), show(message)),
      log: (level, ...values) =>
        Object.hasOwn(levels, level) && values.length > 0 ? own.log(levels[level], values.map(show).join(" ")) : own.log("info", [level, ...values].map(show).join(" ")),
      status: (message, data) => own.status(show(message), data),
      artifact: (name, data, mime) => own.artifact(String(name), plain(data), mime),
      summary: (text) => own.summary(show(text)),
      tool: located("ToolError", async (name, args) => own.tool(String(name), args)),
      readFile: (path) => read(String(path), false),
      readBytes: (path) => read(String(path), true).then((buffer) => new Uint8Array(buffer)),
      inputs: () => own.files(false),
      files: () => own.files(true),
      secret: (name) => own.secret(String(name)),
      model: () => own.model(),
    });
  };
})
