// The theme that was chosen, before anything is drawn.
(function () {
  try {
    var t = localStorage.getItem('hotcell-theme')
    if (t === 'dark' || t === 'light') document.documentElement.dataset.theme = t
  } catch (e) { /* storage may be switched off */ }
})()
