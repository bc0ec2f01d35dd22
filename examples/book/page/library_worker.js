// What a worker of book/library.js does. Its text is the worker's script, behind that of the library, so it uses nothing
// from outside itself.

/// Takes the library's compiled code, and then requests. The weights of a model come in base64, the upper bytes of all
/// apart from the lower ones (make/weights.js).
export function serve() {
  const bytes_of = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

  /// The bytes of a model's file, in base64.
  function file_of({ header, upper, lower }) {
    const [begin, high, low] = [header, upper, lower].map(bytes_of);
    const file = new Uint8Array(begin.length + 2 * low.length), at_once = 3 << 12;
    file.set(begin);
    for (let n = 0, at = begin.length; n < low.length; ++n) {
      file[at++] = low[n];
      file[at++] = high[n];
    }
    const parts = [];
    for (let at = 0; at < file.length; at += at_once) parts.push(btoa(String.fromCharCode(...file.subarray(at, at + at_once))));
    return parts.join('');
  }

  function answer_with(library) {
    self.onmessage = ({ data: { id, request, weights } }) => {
      const text = JSON.stringify(weights ? { ...request, file: file_of(weights) } : request);
      self.postMessage({ id, answer: library.ccall('answer', 'string', ['string'], [text]) });
    };
    self.postMessage({ id: 0 });
  }

  self.onmessage = ({ data: code }) => {
    const fail = (error) => self.postMessage({ id: 0, error: String(error) });
    const instantiateWasm = (imports, done) => {
      WebAssembly.instantiate(code, imports).then(done, fail);
      return {};
    };
    study({ instantiateWasm }).then(answer_with, fail);
  };
}
