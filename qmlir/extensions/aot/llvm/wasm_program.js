const arrayOf = (port) => globalThis[port.type];

/** A program with memory of its own: `run` takes arrays by name, and gives arrays by name. */
class Program {
  inputs = INPUTS;
  outputs = OUTPUTS;
  #code;
  #places;

  constructor(code) {
    this.#code = code;
    let end = code.__heap_base.value;
    this.#places = [...INPUTS, ...OUTPUTS].map((port) => {
      const place = Math.ceil(end / 64) * 64;
      end = place + port.elements * arrayOf(port).BYTES_PER_ELEMENT;
      return place;
    });
    const missing = end + 64 - code.memory.buffer.byteLength; // vector loads may read 64 bytes more
    if (missing > 0) code.memory.grow(Math.ceil(missing / 65536));
  }

  #memory(port, number) {
    return new (arrayOf(port))(this.#code.memory.buffer, this.#places[number], port.elements);
  }

  run(inputs) {
    for (const name of Object.keys(inputs)) {
      if (!INPUTS.some((port) => port.name === name)) throw new TypeError(`there is no input '${name}'`);
    }
    INPUTS.forEach((port, number) => {
      const given = Object.hasOwn(inputs, port.name) ? inputs[port.name] : undefined;
      const found = given?.constructor?.name ?? typeof given;
      if (!(given instanceof arrayOf(port)) || given.length !== port.elements) {
        const wanted = `${arrayOf(port).name} of ${port.elements} elements`;
        throw new TypeError(`input '${port.name}' is ${wanted}, found ${found} of ${given?.length ?? 0}`);
      }
      this.#memory(port, number).set(given);
    });
    const wrong = this.#code[RUN](...this.#places);
    if (wrong) throw new RangeError(`input '${INPUTS[wrong - 1].name}' holds NaN, or what is no value of its type`);
    const rows = OUTPUTS.map((port, place) => [port.name, this.#memory(port, INPUTS.length + place).slice()]);
    return Object.fromEntries(rows);
  }
}

async function compiled(given) {
  let source = await (given ?? new URL(FILE, import.meta.url));
  if (source instanceof URL && source.protocol === "file:" && globalThis.process?.versions?.node) {
    source = await (await import("node:fs/promises")).readFile(source);
  } else if (source instanceof URL) {
    source = await fetch(source);
  }
  if (source instanceof WebAssembly.Module) return source;
  if (typeof Response === "undefined" || !(source instanceof Response)) return WebAssembly.compile(source);
  if (!source.ok) throw new Error(`cannot load '${source.url}': ${source.status} ${source.statusText}`);
  return WebAssembly.compile(await source.arrayBuffer()); // servers may not know the type of such files
}

/** A program: of the file beside this one, or of what is given: its bytes, a `Response`, or a compiled module. */
export async function load(given) {
  return new Program((await WebAssembly.instantiate(await compiled(given))).exports);
}
