// Reads Arrow IPC with apache-arrow, the JavaScript library; ../answer.py says how it is asked.
//
// The library has no codec of its own: a user registers them, as here. What a codec returns has
// to be aligned, hence the copies. The library's `get` rounds times to milliseconds, so that
// their values are taken from its typed arrays.

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { CompressionType, Type, compressionRegistry, tableFromIPC, tableToIPC, Vector } from "apache-arrow";
import * as fzstd from "fzstd";
import lz4 from "lz4js";

compressionRegistry.set(CompressionType.LZ4_FRAME, {
  encode: (bytes) => new Uint8Array(lz4.compress(bytes)),
  decode: (bytes) => new Uint8Array(lz4.decompress(bytes)),
});
compressionRegistry.set(CompressionType.ZSTD, { decode: (bytes) => fzstd.decompress(bytes).slice() });

const WAYS = {
  stream: (table) => tableToIPC(table, "stream"),
  file: (table) => tableToIPC(table, "file"),
  lz4: (table) => tableToIPC(table, "stream", CompressionType.LZ4_FRAME),
};

// Nanoseconds of a second, millisecond, microsecond and nanosecond, by number of the unit.
const UNITS = [1_000_000_000n, 1_000_000n, 1_000n, 1n];
const DAY = 86_400n * UNITS[0];

const PACKAGE = new URL("node_modules/apache-arrow/package.json", import.meta.url);
const VERSION = JSON.parse(readFileSync(PACKAGE)).version;

let table = null;

for await (const line of createInterface({ input: process.stdin })) {
  const [question, ...rest] = line.split("\t");
  if (question === "version") {
    console.log(JSON.stringify(`apache-arrow JS ${VERSION}`));
  } else if (question === "read") {
    const answer = attempt(() => read(rest[0]));
    console.log(JSON.stringify(answer.error ? answer : answer.value.facts));
    console.log(answer.error ? "null" : JSON.stringify(answer.value.values));
  } else {
    const [way, path] = rest;
    console.log(JSON.stringify(attempt(() => writeFileSync(path, WAYS[way](table))).error ?? null));
  }
}

function attempt(action) {
  try {
    return { value: action() };
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

function read(path) {
  table = tableFromIPC(readFileSync(path));
  const fields = table.schema.fields;
  return {
    facts: {
      names: fields.map((field) => field.name),
      types: fields.map((field) => `${field.type}`),
      rows: table.numRows,
      ways: Object.keys(WAYS),
    },
    values: fields.map((_, column) => table.batches.flatMap((batch) => values(batch.data.children[column]))),
  };
}

// The values of a piece of a column.
function values(data) {
  const type = data.type;
  const rows = Array.from({ length: data.length }, (_, row) => row);
  const vector = new Vector([data]);
  const each = (form) => rows.map((row) => (data.getValid(row) ? form(row) : null));
  const numbers = (form) => each((row) => form(BigInt(data.values[row])));
  const child = (number) => values(data.children[number]);
  switch (type.typeId) {
    case Type.Null:
      return rows.map(() => null);
    case Type.Bool:
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return each((row) => vector.get(row));
    case Type.Int:
      return numbers(String);
    case Type.Float:
      return each((row) => float(vector.get(row)));
    case Type.Decimal:
      return each((row) => decimal(data.values.slice(row * data.stride, (row + 1) * data.stride), type.scale));
    case Type.Date:
      return numbers((value) => `${value * (type.unit === 0 ? DAY : UNITS[1])}`);
    case Type.Time:
    case Type.Timestamp:
      return numbers((value) => `${value * UNITS[type.unit]}`);
    case Type.Duration:
      return numbers((value) => ["0", "0", `${value * UNITS[type.unit]}`]);
    case Type.Interval:
      return each((row) => interval(type.unit, data.values.slice(row * data.stride, (row + 1) * data.stride)));
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return each((row) => Buffer.from(vector.get(row)).toString("hex"));
    case Type.List:
    case Type.LargeList:
    case Type.Map: {
      const [items, offsets] = [child(0), data.valueOffsets];
      return each((row) => items.slice(Number(offsets[row]), Number(offsets[row + 1])));
    }
    case Type.FixedSizeList: {
      const items = child(0);
      return each((row) => items.slice(row * type.listSize, (row + 1) * type.listSize));
    }
    case Type.Struct: {
      const columns = data.children.map(values);
      return each((row) => columns.map((column) => column[row]));
    }
    case Type.Union: {
      const columns = data.children.map(values);
      return rows.map((row) => {
        const number = type.typeIdToChildIndex[data.typeIds[row]];
        return [type.children[number].name, columns[number][data.valueOffsets?.[row] ?? row]];
      });
    }
    case Type.Dictionary: {
      const meant = data.dictionary.data.flatMap(values);
      return each((row) => meant[Number(data.values[row])]);
    }
  }
  throw Object.assign(new Error(`${type}`), { name: "Unhandled" });
}

function float(value) {
  if (Number.isNaN(value)) return "nan";
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  return bits.getBigUint64(0).toString(16).padStart(16, "0");
}

// A decimal's 32-bit words, lowest first.
function decimal(words, scale) {
  const bits = words.reduceRight((number, word) => (number << 32n) | BigInt(word >>> 0), 0n);
  const digits = `${BigInt.asIntN(32 * words.length, bits)}`;
  const kept = digits.replace(/0+$/, "");
  return kept ? `${kept}e${digits.length - kept.length - scale}` : "0";
}

// Months; days and milliseconds; or months, days and the two words of nanoseconds.
function interval(unit, parts) {
  if (unit === 0) return [`${parts[0]}`, "0", "0"];
  if (unit === 1) return ["0", `${parts[0]}`, `${BigInt(parts[1]) * UNITS[1]}`];
  const nanoseconds = (BigInt(parts[3]) << 32n) | BigInt(parts[2] >>> 0);
  return [`${parts[0]}`, `${parts[1]}`, `${nanoseconds}`];
}
