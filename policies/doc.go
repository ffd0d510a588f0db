// Package policies says what a call may use: limits with units, network, images. The operator, the skill and the caller
// each state a [Policy]; [Narrow] intersects them, so that each can only take away from the one before, and reports what
// it clamped.
//
// It is pure: it reads no file, knows no engine and no protocol. Its child compile turns the outcome into a sandbox spec.
package policies
