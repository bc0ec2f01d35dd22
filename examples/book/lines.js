// Does in node what lines.cpp does: answers the requests on its input by the library in WebAssembly.
//
//     node examples/book/lines.js build-book/examples/book/study.js < requests

const readline = require('node:readline');
const path = require('node:path');

async function main() {
  const library = await require(path.resolve(process.argv[2]))();
  for await (const request of readline.createInterface({ input: process.stdin }))
    console.log(library.ccall('answer', 'string', ['string'], [request]));
}

main();
