// Asks a program that answers requests as `study` does, such as `node examples/book/lines.js STUDY.js`.

const { spawnSync } = require('node:child_process');

/// The answers to requests, in order.
function ask([program, ...program_arguments], requests) {
  const input = requests.map((request) => JSON.stringify(request)).join('\n') + '\n';
  const { status, stdout, stderr } = spawnSync(program, program_arguments, { input, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  return stdout.trim().split('\n').map((line) => JSON.parse(line));
}

module.exports = { ask };
