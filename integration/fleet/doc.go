// Package fleet runs the product as people do, as one `hotcell serve` or as several on one store, sends calls to it while one after
// the other is killed with kill -9, and judges what callers were told: each call has one answer, which stays the same.
//
// Tests alone import it. It knows nothing of engines: what is left of the dead there, a test looks for itself.
package fleet
