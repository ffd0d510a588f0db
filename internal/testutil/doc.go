// Package testutil is what hotcell's tests share: parts of the machine that a test needs ([Require]), golden files
// ([Golden]), programs built for a test ([GoBuild]) and waiting without sleeping blindly ([Poll]).
//
// Tests alone import it. It knows no other package of hotcell, so that a test on any floor can use it, and it speaks to
// an engine with plain HTTP, so that the engine's client keeps its one home.
package testutil
