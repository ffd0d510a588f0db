(function () {
  'use strict'

  // Times are the reader's own; the exact one is the title.
  function localTimes(root) {
    root.querySelectorAll('time[datetime]').forEach(function (el) {
      var at = new Date(el.getAttribute('datetime'))
      if (isNaN(at) || el.dataset.local === el.getAttribute('datetime')) return
      el.dataset.local = el.getAttribute('datetime')
      el.textContent = 'clock' in el.dataset ? at.toLocaleTimeString() : at.toLocaleString()
      el.title = at.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' }) + ' · ' + at.toISOString()
    })
  }

  function themes() {
    var button = document.getElementById('theme')
    if (!button) return
    button.hidden = false
    function dark() {
      var t = document.documentElement.dataset.theme
      return t ? t === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    }
    function say() { button.textContent = dark() ? 'Light' : 'Dark' }
    button.addEventListener('click', function () {
      var t = dark() ? 'light' : 'dark'
      document.documentElement.dataset.theme = t
      try { localStorage.setItem('hotcell-theme', t) } catch (e) { /* then it holds for this page */ }
      say()
    })
    say()
  }

  // On a narrow screen the menu is one line that is longer than the screen.
  function menu() {
    var here = document.querySelector('.menu [aria-current]')
    var list = here && here.closest('.menu')
    if (list && list.scrollWidth > list.clientWidth) list.scrollLeft = here.offsetLeft - (list.clientWidth - here.offsetWidth) / 2
  }

  document.addEventListener('DOMContentLoaded', function () {
    menu()
    localTimes(document)
    themes()
  })
  document.addEventListener('htmx:load', function (e) { localTimes(e.detail.elt.parentNode || document) })
  document.addEventListener('htmx:sseMessage', function (e) { localTimes(e.target) }) // before it is painted

  // Errors are pages of their own: show what they say.
  document.addEventListener('htmx:beforeSwap', function (e) {
    if (e.detail.xhr.status >= 400 && e.detail.xhr.getResponseHeader('HX-Retarget')) {
      e.detail.shouldSwap = true
      e.detail.isError = false
    }
  })
})()
