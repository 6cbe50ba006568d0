// Imports in code that is evaluated as a script, where node knows neither `import … from` nor `import(…)`.
//
// rewrite: `import(x)` becomes a call of __oi_import, and an import statement a const of what that gives, on the same
// lines. The code is read just far enough to tell code from strings, templates, regular expressions and comments.
'use strict';

const path = require('node:path');
const vm = require('node:vm');
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');

const NAME = '__oi_import';
const WORD = /[\p{ID_Continue}$\u200c\u200d]+/uy;
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const STRING = /"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?/y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//y;
const STATEMENT =
  /import\s+(?:([\w$]+)\s*(?:,\s*)?)?(?:(\{[^}]*\})|\*\s*as\s+([\w$]+))?\s*from\s*("[^"\n]*"|'[^'\n]*')|import\s*("[^"\n]*"|'[^'\n]*')/y;
// After these words a slash begins a regular expression.
const BEFORE_VALUE = new Set('return typeof case in of delete void throw new else do instanceof await yield'.split(' '));

function rewrite(code) {
  if (!code.includes('import')) return code;
  const reader = { code, at: 0, written: 0, out: '', last: '', depth: 0 };
  const templates = [];
  while (reader.at < code.length) step(reader, templates);
  return reader.out + code.slice(reader.written);
}

function step(reader, templates) {
  const { code } = reader;
  if (match(reader, SPACE)) return;
  const start = reader.at;
  const character = code[start];
  const word = match(reader, WORD);
  if (word) {
    if (word === 'import' && reader.last !== '.') importWord(reader, start);
    else reader.last = word;
  } else if (character === '"' || character === "'") {
    match(reader, STRING);
    reader.last = 'value';
  } else if (character === '`') {
    reader.at += 1;
    template(reader, templates);
  } else if (character === '/' && beforeValue(reader.last) && match(reader, REGEX)) {
    reader.last = 'value';
  } else if (character === '}' && templates.at(-1) === reader.depth) {
    templates.pop();
    reader.at += 1;
    reader.depth -= 1;
    template(reader, templates);
  } else {
    if ('({['.includes(character)) reader.depth += 1;
    else if (')}]'.includes(character)) reader.depth -= 1;
    reader.last = code.startsWith('...', start) ? '...' : character;
    reader.at += reader.last.length;
  }
}

// The rest of a template up to its end, or into the next ${.
function template(reader, templates) {
  const { code } = reader;
  while (reader.at < code.length) {
    if (code[reader.at] === '`') {
      reader.at += 1;
      break;
    }
    if (code.startsWith('${', reader.at)) {
      reader.at += 2;
      reader.depth += 1;
      templates.push(reader.depth);
      reader.last = '{';
      return;
    }
    reader.at += code[reader.at] === '\\' ? 2 : 1;
  }
  reader.last = 'value';
}

function importWord(reader, start) {
  match(reader, SPACE);
  reader.last = 'import';
  if (reader.code[reader.at] === '(') return replace(reader, start, start + 'import'.length, NAME);
  if (reader.depth > 0) return undefined;
  STATEMENT.lastIndex = start;
  const found = STATEMENT.exec(reader.code);
  if (found === null) return undefined;
  reader.last = 'value';
  return replace(reader, start, STATEMENT.lastIndex, statement(found));
}

function statement([text, whole, names, namespace, from, alone]) {
  const lines = '\n'.repeat(text.split('\n').length - 1);
  if (alone !== undefined) return `void await ${NAME}(${alone})${lines};`;
  const module = `await ${NAME}(${from})`;
  const parts = [];
  if (namespace !== undefined) parts.push(`${namespace} = ${module}`);
  if (whole !== undefined) parts.push(`{default: ${whole}} = ${module}`);
  if (names !== undefined) parts.push(`${names.replace(/\s+as\s+/g, ': ').replace(/\n/g, ' ')} = ${module}`);
  return `const ${parts.join(', ')}${lines};`;
}

function replace(reader, start, end, text) {
  reader.out += reader.code.slice(reader.written, start) + text;
  reader.written = end;
  reader.at = Math.max(reader.at, end);
}

function beforeValue(last) {
  return last === '' || BEFORE_VALUE.has(last) || (!/^[\p{ID_Continue}$]/u.test(last) && !')]}'.includes(last));
}

function match(reader, pattern) {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.code);
  if (found === null || found[0] === '') return '';
  reader.at = pattern.lastIndex;
  return found[0];
}

// What `import(…)` does for a file in the folder that `folder` gives.
function importFrom(folder) {
  const { emitWarning } = process;
  process.emitWarning = function (warning, ...rest) {
    if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')) emitWarning.call(this, warning, ...rest);
  };
  return (specifier) => {
    const parent = path.join(folder(), 'cell.js');
    const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    if (loader !== undefined) {
      const options = { filename: parent, importModuleDynamically: loader };
      return new vm.Script('(specifier) => import(specifier)', options).runInThisContext()(specifier);
    }
    // Before node 20.12 and 21.7: packages that have an entry for import only are not found.
    return import(resolved(String(specifier), parent));
  };
}

function resolved(specifier, parent) {
  if (/^(?:node|data|file):/.test(specifier)) return specifier;
  if (/^\.{0,2}\//.test(specifier)) return new URL(specifier, pathToFileURL(parent)).href;
  const found = createRequire(parent).resolve(specifier);
  return path.isAbsolute(found) ? pathToFileURL(found).href : found;
}

module.exports = { rewrite, importFrom };
