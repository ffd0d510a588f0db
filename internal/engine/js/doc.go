// Package js is the engine for skills that are JavaScript: it runs a bundle's script inside the cell, without Node.js.
//
// A script is an ES module whose default export is called with the arguments and an object for everything else. It runs on
// one goroutine; what takes time (fetch, tools) runs beside it and comes back as a job of its loop.
package js
