// A classic script for the head of a page. In a browser that lacks import maps or WebAssembly, both of them older than
// 2024, no figure works. It then shows how each begins, as without JavaScript, and says so. What it uses is older than
// modules are.

(function () {
  var takes_maps = typeof HTMLScriptElement.supports === 'function' && HTMLScriptElement.supports('importmap');
  if (takes_maps && typeof WebAssembly === 'object') return;
  window.shows_beginnings = true;
  document.addEventListener('DOMContentLoaded', function () {
    document.documentElement.className += ' shows-beginnings';
    Array.prototype.slice.call(document.querySelectorAll('main noscript')).forEach(function (one) {
      one.insertAdjacentHTML('afterend', one.textContent);
    });
    var said = document.querySelector('main .without-scripts');
    if (said) said.textContent = 'This browser is older than what figures need, so they show how they begin, and nothing ' +
      'here computes, plays or checks an answer. A browser of 2024 or later does.';
  });
})();
