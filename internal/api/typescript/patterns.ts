import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

// patternsOf returns the patterns of a document, each once.
function patternsOf(document: string): Set<string> {
  const found = new Set<string>();
  JSON.parse(document, (key, value: unknown) => {
    if (key === "pattern" && typeof value === "string") found.add(value);
    return value;
  });
  return found;
}

// Libraries differ in whether they read a pattern with the u flag. Each must mean the same with and without it.
for (const pattern of patternsOf(readFileSync("openapi.json", "utf8"))) {
  const [plain, unicode] = [new RegExp(pattern), new RegExp(pattern, "u")];
  for (let code = 0; code < 0x110000; code++) {
    if (code === 0x20000) code = 0xdff00; // letters, or unassigned
    if (code === 0xe1100) code = 0x10fff0;
    if (code >= 0xd800 && code < 0xe000) continue;
    const character = String.fromCodePoint(code);
    for (const text of [character, `a${character}`, `a${character}b`]) {
      assert.equal(plain.test(text), unicode.test(text), `${pattern} and U+${code.toString(16)}`);
    }
  }
}
