// Runs one call or assert natively: program and test in one process.
//
// usage: worker.cjs FILE, which is JSON: program, test_setup, test, and the file of the result.

'use strict';

const assert = require('assert');
const fs = require('fs');
const vm = require('vm');

const asked = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const { test } = asked;

// Exports become plain statements, so that one function can contain program and test.
const program = asked.program
    .replace(/^\s*export\s+default\s+(?=function|class)/gm, '')
    .replace(/\bexport default (?=function|class)/g, '')
    .replace(/\bexport (?=const|let|function|class|async)/g, '');

const lookUp = `(name) => {
  try { const found = eval(name); if (found !== undefined) return found; } catch {}
  if (name in module.exports) return module.exports[name];
  const self = new Solution();
  return (...args) => self[name](...args);
}`;
const tail =
    'call' in test
        ? `return (${lookUp})(${JSON.stringify(test.call)});`
        : `{${asked.test_setup ?? ''}\n${test.assert}\n}`;
const text = `(async function (require, module, exports, assert) {\n${program}\n${tail}\n})`;

async function main() {
    const module = { exports: {} };
    const result = await vm.runInThisContext(text)(require, module, module.exports, assert);
    if (!('call' in test)) return { passed: true };
    return { returns: await result(...(test.args ?? [])) };
}

main()
    .catch((error) => ({ raised: `${error}` }))
    .then((found) => fs.writeFileSync(asked.result, JSON.stringify(found)));
