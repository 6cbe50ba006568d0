// The driver for JavaScript in node. The protocol is in driver.py.
//
// Cells run on the main thread, evaluated through an inspector session of that same thread: replMode gives top-level
// await and lets const and let be declared again. A worker reads the requests, so that they arrive while a cell keeps
// the main thread busy, and can then end the cell through a session of its own (Runtime.terminateExecution).
'use strict';

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const fs = require('node:fs');
const inspector = require('node:inspector');

// How long a busy main thread has to answer before it is torn out of what it does, in milliseconds.
const ANSWER = 15;
// How long a cell is held open for callbacks that it left behind, and how often that is looked at.
const LINGER = 1000;
const LINGER_LOOK = 5;
// Characters of a value or an error that are shown.
const LONGEST_TEXT = 100000;

if (isMainThread) main();
else readRequests();

function readRequests() {
  const net = require('node:net');
  const session = new inspector.Session();
  session.connectToMainThread();
  const answered = new Set();
  parentPort.on('message', (id) => answered.add(id));
  let unread = '';
  const requests = new net.Socket({ fd: workerData, readable: true, writable: false }).setEncoding('utf8');
  requests.on('data', (data) => {
    const lines = (unread + data).split('\n');
    unread = lines.pop();
    for (const line of lines) {
      const [word, id, ...path] = line.split(' ');
      parentPort.postMessage({ word, id, path: path.join(' ') });
      if (word === 'interrupt') setTimeout(terminate, ANSWER, id);
    }
  });
  requests.on('end', () => {
    parentPort.postMessage({ word: 'leave' });
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 10 * ANSWER);
  });

  // A free main thread stops an awaiting cell by itself; terminating it would hit whatever it does next.
  function terminate(id) {
    if (!answered.has(id)) session.post('Runtime.terminateExecution', () => {});
  }
}

function main() {
  const path = require('node:path');
  const util = require('node:util');
  const { createRequire } = require('node:module');
  const imports = require('./node_imports.js');

  const [requests, reports] = [Number(process.env.OI_REQUESTS), Number(process.env.OI_REPORTS)];
  for (const name of ['OI_REQUESTS', 'OI_REPORTS', 'OI_TTY']) delete process.env[name];
  const session = new inspector.Session();
  session.connect();
  const reader = new Worker(__filename, { workerData: requests });
  const reallyExit = process.reallyExit.bind(process);
  const realTimers = { setTimeout, clearTimeout, setImmediate };
  const timerClass = setTimeout(() => {}).constructor;
  const immediateClass = setImmediate(() => {}).constructor;

  // The running cell, null between cells. status: what `done` will say. timers: those that it started. active: what
  // was under way before. holds: it reads lines. reads: it waits for one.
  let cell = null;
  // Where a value of the inspector's becomes one of this program.
  let taken;
  const takeName = '__oi_take';
  hide(takeName, (value) => { taken = value; });
  hide('__oi_import', imports.importFrom(() => process.cwd()));
  prepareGlobals();
  prepareInput();
  reader.on('message', ({ word, id, path: file }) => {
    if (word === 'run') run(id, file);
    else if (word === 'leave') reallyExit(0);
    else if (word === 'interrupt') {
      reader.postMessage(id);
      if (cell !== null && cell.id === id) stop();
    }
  });
  report(`ready 1 node ${process.versions.node}`);

  function report(line) {
    fs.writeSync(reports, `${line}\n`);
  }

  function tell(stream, text) {
    const shown = text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}… (${text.length} characters)`;
    report(`text ${cell === null ? '-' : cell.id} ${stream} ${JSON.stringify(`${shown}\n`)}`);
  }

  function run(id, file) {
    const mine = { id, status: 'ok', timers: new Set(), active: resources(), reads: false, holds: false };
    cell = mine;
    const source = fs.readFileSync(file, 'utf8');
    const expression = `${imports.rewrite(source)}\n//# sourceURL=${path.basename(file)}`;
    session.post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true }, (error, answer) => {
      if (mine !== cell) return;
      if (error) stop();
      else if (answer.exceptionDetails) fail(answer.exceptionDetails, source);
      else settle(mine, local(answer.result));
      session.post('Runtime.releaseObjectGroup', { objectGroup: '' });
    });
  }

  // The value of the last expression is the result; that of a promise is what it comes to, as if awaited.
  function settle(mine, value) {
    if (!util.types.isPromise(value)) return show(mine, value);
    value.then(
      (result) => mine === cell && show(mine, result),
      (error) => mine === cell && (tell('traceback', describe(error)), finish(mine, failure(error))),
    );
  }

  function show(mine, value) {
    const isTimer = value instanceof timerClass || value instanceof immediateClass;
    if (value !== undefined && !isTimer) tell('result', inspect(value));
    // By then a rejection that nobody handles is known.
    realTimers.setImmediate(linger, mine, Date.now() + LINGER);
  }

  // Callbacks are part of the cell where they come soon, and while the program reads its input.
  function linger(mine, deadline) {
    if (mine !== cell) return;
    const runs = resources() > mine.active || [...mine.timers].some((timer) => !timer._destroyed && timer.hasRef());
    if (mine.holds || (runs && Date.now() < deadline)) realTimers.setTimeout(linger, LINGER_LOOK, mine, deadline);
    else finish(mine, mine.status);
  }

  // How many files, sockets, children and the like are under way. Timers are counted where they are started.
  function resources() {
    return process.getActiveResourcesInfo().filter((name) => !['Timeout', 'Immediate', 'TTYWrap'].includes(name)).length;
  }

  function fail(details, source) {
    const error = details.exception === undefined ? details.text : local(details.exception);
    const text = describe(error);
    // The stack of a syntax error in the cell itself knows nothing of the cell.
    const isPlain = error instanceof SyntaxError && !/^ +at /m.test(text);
    tell('traceback', isPlain ? `${located(details, source)}${error.name}: ${error.message}` : text);
    finish(cell, failure(error));
  }

  function located({ lineNumber, columnNumber }, source) {
    const line = source.split('\n')[lineNumber] ?? '';
    return `line ${lineNumber + 1}\n${line.slice(0, 500)}\n${' '.repeat(Math.min(columnNumber, 500))}^\n`;
  }

  function failure(error) {
    const name = error instanceof Error ? String(error.name).replace(/\s+/g, ' ').slice(0, 80) : 'exception';
    return `error ${name}`;
  }

  function finish(mine, status) {
    if (mine !== cell) return;
    report(`done ${mine.id} ${status}`);
    cell = null;
  }

  function stop() {
    const mine = cell;
    for (const timer of mine.timers) realTimers.clearTimeout(timer);
    process.stdin.pause();
    finish(mine, 'error interrupted');
  }

  function inspect(value) {
    try {
      return util.inspect(value);
    } catch (error) {
      return `[a value that cannot be shown: ${error}]`;
    }
  }

  // An error or whatever else was thrown, without the frames of the driver.
  function describe(error) {
    if (!(error instanceof Error)) return `Uncaught ${inspect(error)}`;
    for (let each = error, depth = 0; each instanceof Error && depth < 10; each = each.cause, depth += 1) {
      try {
        each.stack = each.stack.replace(/\n +at Session\.post \(node:inspector[^\n]*(\n +at [^\n]*)*/, '');
      } catch {
        // Frozen, or with a stack that is no text: it is shown as it is.
      }
    }
    return inspect(error);
  }

  // The value that the inspector means.
  function local({ objectId, unserializableValue: text, value }) {
    if (text !== undefined) return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
    if (objectId === undefined) return value;
    const functionDeclaration = `function (value) { globalThis.${takeName}(value); }`;
    session.post('Runtime.callFunctionOn', { functionDeclaration, objectId, arguments: [{ objectId }] });
    const found = taken;
    taken = undefined;
    return found;
  }

  function prepareGlobals() {
    const requireHere = () => createRequire(path.join(process.cwd(), 'cell.js'));
    const require = (name) => requireHere()(name);
    require.resolve = (...given) => requireHere().resolve(...given);
    require.cache = requireHere().cache;
    require.main = undefined;
    hide('require', require);
    hide('module', { exports: {} });
    hide('exports', globalThis.module.exports);
    Object.defineProperty(globalThis, '__dirname', { get: () => process.cwd(), configurable: true });
    Object.defineProperty(globalThis, '__filename', {
      get: () => path.join(process.cwd(), 'cell.js'), configurable: true,
    });
    for (const name of ['setTimeout', 'setInterval', 'setImmediate']) rememberTimers(name);
    process.exit = exit;
    process.on('SIGINT', () => {});
    process.on('uncaughtException', uncaught);
    process.on('unhandledRejection', uncaught);
    // Otherwise node keeps what the terminal does not take at once, without bound.
    for (const { _handle: handle } of [process.stdout, process.stderr]) handle?.setBlocking?.(true);
    // Programs draw nothing and ask in lines where they take this for no terminal.
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.isTTY = false;
  }

  // Timers of a cell end with it when it is stopped.
  function rememberTimers(name) {
    const original = globalThis[name];
    const start = function (...given) {
      const timer = original.apply(this, given);
      if (cell !== null) cell.timers.add(timer);
      return timer;
    };
    Object.defineProperty(start, 'name', { value: name });
    const promised = original[util.promisify.custom];
    if (promised !== undefined) Object.defineProperty(start, util.promisify.custom, { value: promised });
    globalThis[name] = start;
  }

  function uncaught(error) {
    tell('traceback', `${describe(error).replace(/^(?!Uncaught )/, 'Uncaught ')}`);
    if (cell !== null) cell.status = failure(error);
  }

  // `process.exit` ends the cell and keeps the process.
  function exit(code = process.exitCode) {
    if (cell !== null) {
      const status = Number(code ?? 0) & 255;
      finish(cell, status === 0 ? 'ok' : `error exit status ${status}`);
    }
    process.exitCode = undefined;
    session.post('Runtime.terminateExecution');
    for (;;);
  }

  // Says when the program reads lines, and when it has got some.
  function prepareInput() {
    const { stdin } = process;
    const push = stdin.push.bind(stdin);
    stdin.on('resume', () => holds(true));
    stdin.on('pause', () => holds(false));
    stdin.push = (...given) => {
      reads(false);
      // Some time for what the program does with it.
      realTimers.setTimeout(() => reads(stdin.readableFlowing === true), ANSWER);
      return push(...given);
    };
  }

  function holds(now) {
    if (cell !== null) cell.holds = now;
    reads(now);
  }

  function reads(now) {
    if (cell === null || cell.reads === now) return;
    cell.reads = now;
    report(`input ${cell.id} ${now ? 'yes' : 'no'}`);
  }

  function hide(name, value) {
    Object.defineProperty(globalThis, name, { value, enumerable: false, configurable: true, writable: true });
  }
}
