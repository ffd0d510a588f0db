// Package faults holds the tests of what may go wrong between hotcell and its engine: thirty traps that engines are known
// for, each as a test or as a row in docs/reliability.md that names one, and engines that are restarted during calls.
//
// Most of them put internal/testutil/engineproxy in front of the real engine. Each ends with the same three questions: is
// anything left on the engine, do the books balance, does a goroutine still run?
package faults
