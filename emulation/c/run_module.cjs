// Runs a driver that was compiled to WebAssembly: io.h by Node.js.
"use strict";
const fs = require("fs");

const memory = () => new Uint8Array(instance.exports.memory.buffer);

function text(at) {
  const bytes = memory();
  return Buffer.from(bytes.subarray(at, bytes.indexOf(0, at))).toString();
}

const io = {
  io_open(path, write) {
    try {
      return fs.openSync(text(path), write ? "w" : "r");
    } catch {
      return -1;
    }
  },
  io_read(file, to, bytes) {
    return fs.readSync(file, memory(), to, bytes, null) === bytes ? 1 : 0;
  },
  io_write(file, from, bytes) {
    return fs.writeSync(file, memory(), from, bytes) === bytes ? 1 : 0;
  },
  io_close(file) {
    fs.closeSync(file);
    return 1;
  },
  io_say(line) {
    console.error(text(line));
  },
};

const instance = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(process.argv[2])), { env: io });
process.exit(instance.exports.driver_main());
