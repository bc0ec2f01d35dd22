// A chromium without a window, asked over a pipe: pages that it opens compute and draw as for a reader.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

class Browser {
  #process;
  #profile = fs.mkdtempSync(path.join(os.tmpdir(), 'book-'));
  #count = 0;
  #waiting = new Map();  // answers by number
  #read = '';

  constructor(program) {
    // A phone's scroll bars lie over the page and take none of its width.
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe',
                   `--user-data-dir=${this.#profile}`];
    this.#process = spawn(program, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.#process.on('error', (error) => this.#end(error));
    this.#process.on('exit', () => this.#end(new Error(`${program} has ended`)));
    this.#process.stdio[4].on('data', (data) => this.#take(String(data)));
  }

  #end(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #take(data) {
    const messages = (this.#read + data).split('\0');
    this.#read = messages.pop();
    for (const { id, result, error } of messages.map((text) => JSON.parse(text))) {
      const { resolve, reject } = this.#waiting.get(id) ?? {};
      this.#waiting.delete(id);
      if (error) reject?.(new Error(error.message));
      else resolve?.(result);
    }
  }

  #ask(method, params = {}, sessionId = undefined) {
    const id = ++this.#count, answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer;
  }

  /// Opens a file. Returns what resizes its window, has it run a function, and closes it.
  async open(file, size) {
    const { targetId } = await this.#ask('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#ask('Target.attachToTarget', { targetId, flatten: true });
    const ask = (method, params) => this.#ask(method, params, sessionId);
    const resize = ({ width, height }) =>
      ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await ask('Page.enable');
    await resize(size);
    await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-reduced-motion', value: 'reduce' }] });
    // The answer comes once the file has taken the place of the empty page, whose own load event may come late.
    await ask('Page.navigate', { url: `file://${path.resolve(file)}` });
    const run = async (function_) => {
      const expression = `(${function_})()`;
      const { result, exceptionDetails } =
        await ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      if (exceptionDetails) throw new Error(`${file}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
      return result.value;
    };
    await run(() => document.readyState === 'complete' || new Promise((resolve) => { addEventListener('load', () => resolve(true), { once: true }); }));
    return { resize, run, close: () => this.#ask('Target.closeTarget', { targetId }) };
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.on('exit', resolve));
    this.#process.kill();
    await ended;
    // Its other processes write there until they have ended, too.
    fs.rmSync(this.#profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

module.exports = { Browser };
