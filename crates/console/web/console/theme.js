// Runs before anything is drawn, so that nothing flashes: which theme was chosen here.
// Without a choice the browser's own holds.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem('switchboard.theme');
  } catch (fault) {
    // Storage may be switched off; then there is no choice to remember.
  }
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
})();
