// Package sandboxtest is the conformance suite of [sandbox.Driver]: what every driver does alike, the fake included.
//
// A driver's test calls [Run] with a way to make a driver and a way to make specs. The programs that run in the cells are
// [Program]: real drivers build the static binary in testdata/program, which is nothing but a main around it, the fake
// calls it. Run knows no driver; what not all of them can do is behind a feature word.
package sandboxtest
