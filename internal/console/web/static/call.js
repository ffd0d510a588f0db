// What a reader has unfolded among the events stays so when they are drawn anew.
(function () {
  'use strict'
  var open = []

  function folds(root) {
    return Array.prototype.slice.call(root.querySelectorAll('li[id] details'))
  }

  function name(d) {
    var li = d.closest('li')
    return li.id + '/' + Array.prototype.indexOf.call(li.querySelectorAll('details'), d)
  }

  document.addEventListener('htmx:sseBeforeMessage', function (e) {
    if (e.target.id === 'events') open = folds(e.target).filter(function (d) { return d.open }).map(name)
  })
  document.addEventListener('htmx:sseMessage', function (e) {
    if (e.target.id !== 'events') return
    folds(e.target).forEach(function (d) { if (open.indexOf(name(d)) >= 0) d.open = true })
  })
})()
