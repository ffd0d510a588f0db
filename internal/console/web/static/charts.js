(function () {
  'use strict'

  function two(n) { return (n < 10 ? '0' : '') + n }
  function time(at) { return at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' }) }
  function day(at) { return at.toLocaleDateString(undefined, { day: 'numeric', month: 'short' }) }

  // The axis of time is the reader's own. Marks of days move to where the reader's days begin.
  function tick(el) {
    var at = new Date(el.getAttribute('data-at')), plot = el.closest('svg.chart-plot')
    if (isNaN(at) || !plot) return
    if (!el.hasAttribute('data-day')) { el.textContent = time(at); return }
    var from = +new Date(plot.getAttribute('data-from')), until = +new Date(plot.getAttribute('data-until'))
    var offset = at.getHours() * 60 + at.getMinutes()
    at.setHours(offset > 720 ? 24 : 0, 0, 0, 0)
    var part = 100 * (at - from) / (until - from)
    el.textContent = part < 0 || part > 100 ? '' : day(at)
    if (el.textContent) el.setAttribute('x', part + '%')
  }

  function slice(el) {
    var title = el.querySelector('title'), at = new Date(el.getAttribute('data-at'))
    var rest = title && title.textContent.indexOf(' UTC: ')
    if (!title || rest < 0 || isNaN(at)) return
    title.textContent = day(at) + ' ' + time(at) + title.textContent.slice(rest + 4)
  }

  function localCharts(root) {
    root.querySelectorAll('.chart-tick[data-at]').forEach(tick)
    root.querySelectorAll('.chart-slice[data-at]').forEach(slice)
    root.querySelectorAll('[data-zone]').forEach(function (el) { el.textContent = zone() })
  }

  function zone() {
    try { return Intl.DateTimeFormat().resolvedOptions().timeZone || 'your time' } catch (e) { return 'your time' }
  }

  // What a reader has opened or scrolled stays so when a live part is replaced.
  var open = [], scrolled = {}
  document.addEventListener('htmx:sseBeforeMessage', function (e) {
    open = [], scrolled = {}
    e.target.querySelectorAll('details[id]').forEach(function (d) {
      if (!d.open) return
      open.push(d.id)
      var box = d.querySelector('.scroll')
      if (box) scrolled[d.id] = [box.scrollLeft, box.scrollTop, document.activeElement === box]
    })
  })
  document.addEventListener('htmx:sseMessage', function (e) {
    localCharts(e.target)
    open.forEach(function (id) {
      var d = document.getElementById(id), box = d && d.querySelector('.scroll')
      if (d) d.open = true
      if (!box || !scrolled[id]) return
      box.scrollLeft = scrolled[id][0]
      box.scrollTop = scrolled[id][1]
      if (scrolled[id][2]) box.focus({ preventScroll: true })
    })
  })

  // Whether live parts arrive.
  function alive(yes) {
    document.querySelectorAll('[data-live]').forEach(function (el) { el.hidden = !yes })
    document.querySelectorAll('[data-live-lost]').forEach(function (el) { el.hidden = yes })
  }
  document.addEventListener('htmx:sseOpen', function () { alive(true) })
  document.addEventListener('htmx:sseError', function () { alive(false) })
  // hotcell ends a live list or overview where nobody is signed in any more: the page itself leads to the sign-in.
  document.addEventListener('htmx:sseClose', function (e) {
    if (e.detail.type === 'message' && e.target.classList.contains('live-area')) location.reload()
  })

  // Fields of times are the reader's own; the address has UTC.
  function fieldOf(at) { return at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + 'T' + two(at.getHours()) + ':' + two(at.getMinutes()) + (at.getSeconds() ? ':' + two(at.getSeconds()) : '') }
  function localFields() {
    document.querySelectorAll('input[data-utc]').forEach(function (el) {
      var label = document.querySelector('[data-zone-of="' + el.id + '"]'), at = new Date(el.value + 'Z')
      if (label) label.textContent = '(your time)'
      if (el.value && !isNaN(at)) el.value = fieldOf(at)
    })
  }
  document.addEventListener('submit', function (e) {
    var form = e.target
    if (!form.hasAttribute('data-tidy')) return
    form.querySelectorAll('input[data-utc]').forEach(function (el) {
      var at = new Date(el.value)
      if (!el.value || isNaN(at)) return
      var sent = document.createElement('input')
      sent.type = 'hidden'
      sent.name = el.name
      sent.value = at.toISOString().slice(0, 19) + 'Z'
      form.appendChild(sent)
      el.disabled = true
    })
    var last = form.querySelector('[name=last]')
    form.querySelectorAll('input[name], select[name]').forEach(function (el) {
      if (!el.value || last && last.value && (el.name === 'since' || el.name === 'until')) el.disabled = true
    })
  })
  // Back leads to the form as it was sent: make its fields usable again.
  window.addEventListener('pageshow', function (e) {
    if (!e.persisted) return
    document.querySelectorAll('form[data-tidy] [disabled]').forEach(function (el) { el.disabled = false })
    document.querySelectorAll('form[data-tidy] input[type=hidden]').forEach(function (el) { el.remove() })
  })

  // A browser has few connections to one host: a page that nobody sees for a while gives its own back, and asks anew when it is seen.
  var sources = [], timer
  htmx.createEventSource = function (url) {
    var s = new EventSource(url, { withCredentials: true })
    sources.push(s)
    return s
  }
  document.addEventListener('visibilitychange', function () {
    var area = document.querySelector('.live-area[sse-connect]')
    clearTimeout(timer)
    if (!area) return
    if (document.hidden) {
      timer = setTimeout(function () {
        sources.forEach(function (s) { s.close() })
        sources = []
      }, 30000)
    } else if (!sources.length) {
      var again = area.cloneNode(true) // which knows nothing of the old connection
      area.replaceWith(again)
      htmx.process(again)
    }
  })

  document.addEventListener('DOMContentLoaded', function () {
    localCharts(document)
    localFields()
    var box = document.getElementById('filter-box')
    if (box && !box.hasAttribute('data-used') && matchMedia('(max-width: 46rem)').matches) box.open = false
  })
})()
